"""How far the numbers can be trusted: intervals, tests of calibration, differences of systems."""
