"""Names of columns that headers have, and layouts without a header: what each column must hold."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llrkit.io.text.lines import NO_SCORE, NUMBER
from llrkit.scores.target_labels import classify_words

LLR, LOG10_LR, LLR_MAP, RAW_SCORE = "llr", "log10_lr", "llr_map", "raw_score"
"""What a calibration writes: natural-log LLRs, or to base ten; which map made them. Before, LLRs were written
to ``score``, and what had been there to ``raw_score``."""
SCORE_NAMES = (
    "score", "scores", "llr", "log_lr", "loglr", "raw_score", "y_score", "similarity", "sasv_score",
)  # fmt: skip
ONE_OF_TWO_SCORES = ("cm_score", "asv_score")
"""Scores where a table has but one of them; which is meant of both must be said."""
LABEL_NAMES = (
    "label", "target", "targettype", "target_type", "is_target", "labels", "key", "class", "truth", "tgt",
    "trialtype", "trial_type", "sasv_label", "y_true", "hypothesis", "ground_truth", "asv_label", "cm_label",
)  # fmt: skip
ENROLL_NAMES = (
    "enroll", "enrol", "model", "modelid", "model_id", "enroll_id", "enrol_id", "enrollment",
    "enroll_speaker", "claimed_id", "bio_ref_subject_id", "file1", "file_1", "utt1", "wav1", "audio1", "spk",
    "tar_spk_anon", "reference",
)  # fmt: skip
TEST_NAMES = (
    "test", "segment", "segmentid", "segment_id", "segid", "test_id", "utt", "utterance", "probe",
    "probe_key", "file2", "file_2", "utt2", "wav2", "audio2", "filename", "file_name", "trial_anon",
)  # fmt: skip
SAME_SUBJECT = (("claimed_id", "real_id"), ("bio_ref_subject_id", "probe_subject_id"))
"""Columns that name the subject on both sides: the trial is a target where they are equal."""

BONAFIDE, ATTACK = {"bonafide", "bona-fide", "genuine"}, re.compile("spoof|-|[as][0-9]{1,2}|[abc]{2}")
"""What is no attack, and the names of attacks in ASVspoof: S1 to S10, A01 to A32, AA to CC."""
GENUINE_OR_SPOOFED = BONAFIDE | {"real", "spoof", "spoofed", "fake"}
_NAMES = {*SCORE_NAMES, *ONE_OF_TWO_SCORES, *LABEL_NAMES, *ENROLL_NAMES, *TEST_NAMES}
KNOWN_NAMES = {name for name in _NAMES if name[-1] not in "12"} | {"side", "channel", "gender"}
"""Names by which a header is known; ``utt1`` may as well be an id."""


def folded(name: str) -> str:
    """A name of a column as the lists above have it, however it is capitalized and joined.

    Examples
    --------
    >>> folded("CM-Score"), folded("model id")
    ('cm_score', 'model_id')
    """
    return name.strip().lower().replace("-", "_").replace(" ", "_")


@dataclass(frozen=True)
class Layout:
    """A layout without header: what each column must hold, and its name.

    Letters: N a number, L a label (word or 0/1 or -1/1), W a label that is a word, B 0/1 or -1/1, S a side
    (a or b), Y yes or no (y or n), G a gender, C bonafide or which attack, F bonafide or spoof as a label,
    T text that is not all numbers, * anything.
    """

    format: str
    holds: str
    names: str
    delimiters: str = " \t,;"

    def fits(self, kinds: Sequence[str], delimiter: str) -> bool:
        """Whether columns of these kinds can be this layout."""
        if len(kinds) != len(self.holds) or delimiter not in self.delimiters:
            return False
        return all(want == "*" or want in kind for want, kind in zip(self.holds, kinds, strict=True))


LAYOUTS = (
    Layout("values", "N", "score"),
    Layout("two-column", "LN", "label score"),
    Layout("two-column", "NL", "score label"),
    Layout("asvspoof", "*N", "test score"),
    Layout("asvspoof", "WWN", "cm_label label score"),
    Layout("asvspoof", "CWN", "cm_label label score"),
    Layout("asvspoof", "*WN", "test label score"),
    Layout("kaldi", "**L", "enroll test label"),
    Layout("voxceleb", "B**", "label enroll test"),
    Layout("kaldi", "**N", "enroll test score"),
    Layout("voxceleb", "N**", "score enroll test"),
    Layout("nist", "**SL", "enroll test side label"),
    Layout("nist", "**SN", "enroll test side score"),
    Layout("asvspoof", "**WW", "enroll test cm_label label"),
    Layout("asvspoof", "**CW", "enroll test cm_label label"),
    Layout("asvspoof", "**FN", "test attack label score"),
    # SpeechBrain's scores.txt has 0 or 1 there; WeSpeaker's *.kaldi.score ends with the label
    Layout("kaldi", "**LN", "enroll test label score"),
    Layout("kaldi", "**NL", "enroll test score label"),
    Layout("voxceleb", "BTTN", "label enroll test score"),
    Layout("bob", "***N", "claimed_id real_id probe score", " \t"),
    Layout("nist", "**SWN", "enroll test side decision score"),
    Layout("asvspoof", "**G*W", "enroll test gender attack label"),  # ASVspoof 5, track 2
    Layout("asvspoof", "****W", "speaker test environment attack label"),
    Layout("bob", "****N", "claimed_id model_label real_id probe score", " \t"),
    Layout("asvspoof", "***WN*", "test speaker attack label score gender"),
    # ASVspoof 2021, as its evaluation package reads them: LA, PA and DF
    Layout("asvspoof", "*****W**", "enroll test codec transmission attack label trim subset"),
    # ASVspoof 5: training, and track 1
    Layout(
        "asvspoof",
        "**G*****W*",
        "speaker test gender codec codec_quality codec_seed attack_tag attack label other",
    ),
    Layout(
        "asvspoof",
        "*********W**",
        "enroll test asv_room asv_mic distance attack_room attack_mic "
        "attack_distance attack_to_speaker label trim subset",
    ),
    Layout(
        "asvspoof",
        "*****W*******",
        "speaker test compression source attack label trim subset vocoder task team gender_pair language",
    ),
    Layout("nist", "******SWN", "training adaptation segment_type gender enroll test side decision score"),
)
"""In this order: the first that fits is taken."""
KEY_LAYOUTS = (Layout("two-column", "*L", "test label"), *LAYOUTS)
"""The same for a file that is read for its labels."""

_KEY, _NINE = "enroll test side label", "c1 c2 c3 c4 c5 c6 c7 c8 c9"
NIST_KEYS = (
    Layout("nist", "**SWYYYYYYYY", f"{_KEY} {_NINE[:-3]}", ","),  # SRE08
    Layout("nist", "**SWYYYYYYYYYY", f"{_KEY} scored {_NINE}", ","),  # SRE10
    Layout("nist", "**SW*YYYYY", f"{_KEY} column_5 {_NINE[:14]}", ","),  # SRE12
)
"""Model, segment, channel, kind of trial, and whether it counts in each condition; with a header."""


def kinds_of(rows: Sequence[Sequence[str]]) -> list[str]:
    """For each column the letters of what it can be.

    Examples
    --------
    >>> kinds_of([["1", "a.wav", "2.5", "target"], ["0", "b.wav", "-1", "imp"]])
    ['NLB', 'T', 'N', 'TLW']
    """
    kinds = []
    for column in zip(*rows, strict=False):
        values = {value.strip().lower() for value in column}
        kind = ""
        numbers = values - NO_SCORE
        kind += "N" if numbers and all(NUMBER.fullmatch(value) for value in numbers) else "T"
        binary = values <= {"0", "1"} or values <= {"-1", "1"} or values <= {"0.0", "1.0"}
        if binary or None not in classify_words(list(values)):
            kind += "LB" if binary else "LW"
        if values <= {"a", "b"}:
            kind += "S"
        if values <= {"y", "n"}:
            kind += "Y"
        if values <= {"m", "f", "male", "female"}:
            kind += "G"
        if values <= GENUINE_OR_SPOOFED:
            kind += "F"
        if values & BONAFIDE and all(ATTACK.fullmatch(value) for value in values - BONAFIDE):
            kind += "C"
        kinds.append(kind)
    return kinds
