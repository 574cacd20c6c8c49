"""``llrkit recognize``: from speech, or from embeddings, to scores; ``import-kaldi``."""

from __future__ import annotations

import click

from llrkit.cli.recognize_models import cohort_command, enroll_command, extract_command
from llrkit.cli.recognize_scoring import score_command
from llrkit.cli.recognize_training import train_command


@click.command("import-kaldi")
@click.argument("plda")
@click.option("-o", "--output", required=True, metavar="FILE", help="The recognizer (NPZ).")
@click.option("--mean", "mean_file", metavar="FILE", help="The mean, subtracted first (mean.vec).")
@click.option(
    "--transform", "transform_file", metavar="FILE", help="The transform, applied next (transform.mat)."
)
@click.option("--no-length", is_flag=True, help="Do not normalize the length, as Kaldi does by default.")
def import_kaldi_command(
    plda: str, output: str, mean_file: str | None, transform_file: str | None, no_length: bool
) -> None:
    """Make a recognizer of embeddings from the PLDA of a Kaldi recipe, with its mean and transform.

    \b
    Example:
      llrkit recognize import-kaldi plda --mean mean.vec --transform transform.mat -o model.npz
    """
    from llrkit.speech.backends import kaldi_backend
    from llrkit.speech.recognizer import Recognizer, RecognizerOptions

    backend = kaldi_backend(plda, mean=mean_file, transform=transform_file, normalize_length=not no_length)
    Recognizer(RecognizerOptions("plda"), backend=backend).save(output)
    click.echo(f"{backend.plda!r} of Kaldi. Saved in {output}")


@click.group("recognize")
def recognize_command() -> None:
    """Train a speaker recognizer, enroll, score.

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
