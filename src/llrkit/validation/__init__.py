"""Validation of a system against criteria, as forensic practice asks for it."""
