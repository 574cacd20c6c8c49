"""Maps made of other maps or of several systems: bounds, conditions, fusion, means."""
