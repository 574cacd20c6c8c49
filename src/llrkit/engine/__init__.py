"""The only room that knows where data live: files read in batches, clusters."""
