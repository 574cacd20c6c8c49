"""Evaluations as one self-contained HTML page, and as tables for papers."""
