"""What is done with trials: evaluate, diagnose, find a threshold, validate, report a case."""
