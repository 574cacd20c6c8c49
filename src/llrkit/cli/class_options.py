"""The options that are for files of several classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

classes_option: Callable[[Any], Any] = click.option(
    "--classes", metavar="A,B,C",
    help="Several classes: their names, in order; by default the columns that the labels name.",
)  # fmt: skip
prior_option: Callable[[Any], Any] = click.option(
    "--prior", metavar="flat|counts|A=P,B=P",
    help="Several classes: the prior; by default flat.",
)  # fmt: skip
posteriors_option: Callable[[Any], Any] = click.option(
    "--posteriors", is_flag=True,
    help="Several classes: the scores are log-posteriors, or logits, at the proportions of the labels.",
)  # fmt: skip
