"""``llrkit simulate`` with all that it can simulate."""

from __future__ import annotations

from llrkit.cli.simulate import simulate_command
from llrkit.cli.simulate_sample import sample_command
from llrkit.cli.simulate_speech import embeddings_command, frames_command, plda_command

for kind in (plda_command, embeddings_command, frames_command, sample_command):
    simulate_command.add_command(kind)
