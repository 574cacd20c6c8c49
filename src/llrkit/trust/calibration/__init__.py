"""Are the LLRs what they claim to be? Tests, curves and words about calibration."""
