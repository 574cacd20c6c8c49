"""From frames to i-vectors: background model, statistics, and the total-variability model."""
