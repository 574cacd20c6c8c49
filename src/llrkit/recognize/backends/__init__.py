"""From embeddings to scores: transforms, scorers, and normalization by a cohort."""
