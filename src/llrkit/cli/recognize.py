"""``llrkit recognize``: from speech, or from embeddings, to scores."""

from __future__ import annotations

import click

from llrkit.cli.recognize_kaldi import import_kaldi_command
from llrkit.cli.recognize_models import cohort_command, enroll_command, extract_command
from llrkit.cli.recognize_scoring import score_command
from llrkit.cli.recognize_training import train_command


@click.group("recognize")
def recognize_command() -> None:
    """Recognize speakers: train a recognizer, enroll speakers, score trials.

    The speech is a list, a small table with a column of speakers and one of audio files (WAV, FLAC, OGG,
    MP3), or Kaldi's wav.scp; or a file of embeddings that were made elsewhere (NPZ, Kaldi ark or scp). Audio
    needs the extra 'audio': pip install 'llrkit[audio]'.

    \b
    Examples:
      llrkit recognize train train.tsv -o model.npz
      llrkit recognize enroll model.npz enroll.tsv -o enrolled.npz
      llrkit recognize score model.npz enrolled.npz test.tsv -o scores.csv
    """


_COMMANDS = (
    train_command, extract_command, enroll_command, cohort_command, score_command, import_kaldi_command,
)  # fmt: skip
for _command in _COMMANDS:
    recognize_command.add_command(_command)
