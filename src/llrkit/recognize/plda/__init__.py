"""Two-covariance PLDA: the model, its training, and whole matrices of its scores."""
