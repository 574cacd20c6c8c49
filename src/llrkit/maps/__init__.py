"""Maps from score to LLR, their bounds and their files."""
