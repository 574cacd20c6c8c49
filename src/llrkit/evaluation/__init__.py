"""evaluate(): the numbers of a set of trials with their intervals, and what they mean in words."""
