"""The options that are for files of several classes."""

from __future__ import annotations

import click

classes_option = click.option(
    "--classes", metavar="A,B,C",
    help="Several classes: their names, in order; by default the columns that the labels name.",
)  # fmt: skip
prior_option = click.option(
    "--prior", metavar="flat|counts|A=P,B=P",
    help="Several classes: the prior; by default flat.",
)  # fmt: skip
posteriors_option = click.option(
    "--posteriors", is_flag=True,
    help="Several classes: the scores are log-posteriors, or logits, at the proportions of the labels.",
)  # fmt: skip
