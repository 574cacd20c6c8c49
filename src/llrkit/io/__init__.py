"""Readers and writers of trial files, one module per family of formats; ``formats.py`` lists them."""
