"""Text files: lines, delimiters, layouts, and columns parsed piece by piece."""
