"""Line-ups: an LLR from the rank of a trial's score among those of foils."""
