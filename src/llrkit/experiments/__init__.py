"""The experiments of van Leeuwen & Brümmer (Interspeech 2013), on simulated and on real data."""
