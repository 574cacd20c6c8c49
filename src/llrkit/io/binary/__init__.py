"""Files that are not text: Parquet, Arrow, NumPy, HDF5."""
