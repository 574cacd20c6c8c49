"""Files with log-likelihoods of several classes."""
