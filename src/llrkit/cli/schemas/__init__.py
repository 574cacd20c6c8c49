"""JSON Schemas of what commands write with ``--json``, and of the files that llrkit keeps."""
