"""What everything is made of: special functions, the summaries, PAV and the ROC convex hull."""
