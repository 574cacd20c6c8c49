"""Three kinds of trials, target, nontarget and spoof, and the words that mean them."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from llrkit.errors import LabelError
from llrkit.scores.target_labels import NONTARGET_WORDS, TARGET_WORDS

Kind = Literal["target", "nontarget", "spoof"]
KINDS: tuple[Kind, ...] = get_args(Kind)
SPOOF_WORDS = frozenset({"spoof", "spoofed", "spf", "fake", "attack", "deepfake", "replay"})
KNOWN_KINDS = (
    "known are target (or bonafide, genuine, ...), nontarget (or impostor, ...) and spoof (or fake, "
    "attack, ...)"
)
KIND, TARGET = "kind of trial", "is a target"
"""Columns of our own beside those of the table; the kind is its place among the three."""


def kind_of(word: object) -> Kind:
    """The kind of trial that a label means.

    Examples
    --------
    >>> kind_of("tar"), kind_of("impostor"), kind_of("Spoof"), kind_of(True)
    ('target', 'nontarget', 'spoof', 'target')
    """
    if isinstance(word, (bool, np.bool_)):
        return "target" if word else "nontarget"
    text = str(word).strip().lower().replace("_", "-").replace(" ", "-")
    if text in SPOOF_WORDS:
        return "spoof"
    if text in TARGET_WORDS or text in NONTARGET_WORDS:
        return "target" if text in TARGET_WORDS else "nontarget"
    raise LabelError(f"unknown kind of trial {word!r}; {KNOWN_KINDS}")
