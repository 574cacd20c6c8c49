"""LLRs no stronger than the training data can bear: bounds around any map."""
