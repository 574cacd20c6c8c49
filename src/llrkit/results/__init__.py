"""The base of all results, and the words they are told in."""
