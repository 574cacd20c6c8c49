"""From audio to frames: reading, cepstra, and what is done with them before modeling."""
