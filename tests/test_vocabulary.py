"""The words of three communities come from one table."""

import pytest

from llrkit.errors import UnknownNameError
from llrkit.results.vocabulary import _WORDS, VOCABULARIES, vocabulary


@pytest.mark.parametrize(
    ("text", "forensic", "biometrics"),
    [
        ("3 target + 4 non-target", "3 same-source + 4 different-source", "3 mated + 4 non-mated"),
        ("Pmiss at most 1 %", "false-exclusion rate at most 1 %", "FNMR at most 1 %"),
        ("Misses (%)", "False exclusions (%)", "False non-matches (%)"),
        ("40 speakers; 1,000 trials.", "40 speakers; 1,000 comparisons.", "40 subjects; 1,000 comparisons."),
        ("non-target trials", "different-source comparisons", "non-mated comparisons"),
    ],
)
def test_sentences_of_each_community(text, forensic, biometrics):
    assert vocabulary("nist").say(text) == text
    assert vocabulary("forensic").say(text) == forensic
    assert vocabulary("biometrics").say(text) == biometrics


@pytest.mark.parametrize(
    "name", ["target_loss", "--false-alarm-rate", "a/target.csv", "targets2", "x=target", "miss-1"]
)
def test_names_are_left_alone(name):
    for words in VOCABULARIES.values():
        assert words.say(f"see {name}") == f"see {name}"


def test_kept_names_are_left_alone_and_nothing_around_them():
    said = vocabulary("biometrics").say("target: Pfa of target", keep=["target"])
    assert said == "target: FMR of target"
    assert vocabulary("biometrics").say("a target (x", keep=["target (x"]) == "a target (x"


def test_a_short_name_to_keep_is_no_part_of_other_words():
    words = vocabulary("biometrics")
    assert words.say("f: false alarms of females", keep=["f"]) == "f: false matches of females"
    assert words.say("m: misses", keep=["m"]) == "m: false non-matches"


def test_no_word_is_there_twice_and_none_is_missing():
    assert len({row[0] for row in _WORDS}) == len(_WORDS)
    assert all(word for row in _WORDS for word in row)


def test_an_unknown_vocabulary_is_refused():
    with pytest.raises(UnknownNameError):
        vocabulary("klingon")


def test_texts_about_sources_are_said_in_all_vocabularies():
    text = "3 % of same-source trials; different-source pairs of same-source.csv"
    assert vocabulary("nist").say_of_sources(text) == (
        "3 % of target trials; non-target pairs of same-source.csv"
    )
    assert vocabulary("biometrics").say_of_sources(text, keep=["same-source trials"]) == (
        "3 % of same-source trials; non-mated pairs of same-source.csv"
    )
