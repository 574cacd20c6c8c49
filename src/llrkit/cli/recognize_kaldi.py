"""``llrkit recognize import-kaldi``."""

from __future__ import annotations

import click


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
    from llrkit.recognize.kaldi_models import kaldi_backend
    from llrkit.recognize.recognizer import Recognizer
    from llrkit.recognize.recognizer_options import RecognizerOptions

    backend = kaldi_backend(plda, mean=mean_file, transform=transform_file, normalize_length=not no_length)
    Recognizer(RecognizerOptions("plda"), backend=backend).save(output)
    click.echo(f"{backend.plda!r} of Kaldi. Saved in {output}")
