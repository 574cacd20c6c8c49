"""How sure the numbers of an evaluation are: variances, intervals and bands."""
