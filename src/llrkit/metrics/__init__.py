"""Operating points, metrics (the only definition of each), curves, and evaluate()."""
