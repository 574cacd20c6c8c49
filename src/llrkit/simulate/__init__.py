"""Trial sets, embeddings and frames whose answers are known, made block by block from a seed."""
