"""The local application: score files in, documents out, in a browser on this machine."""
