"""APCER, BPCER, ACER and IAPAR against brute force."""

import json

import numpy as np
import polars as pl
import pytest
from tests.support.commands import run

from llrkit import spoof
from llrkit.errors import InputError


def table(seed=1, n=600):
    rng = np.random.default_rng(seed)
    label = rng.choice(["target", "nontarget", "spoof"], n)
    return {
        "asv": rng.normal(size=n).round(1) + (label != "nontarget"),
        "cm": rng.normal(size=n).round(1) + 1.5 * (label != "spoof"),
        "label": label, "attack": np.where(label == "spoof", rng.choice(["mask", "print", "replay"], n), "-"),
    }  # fmt: skip


def test_rates_against_brute_force():
    data = table()
    trials = spoof.SpoofTrials(data, asv="asv", cm="cm", attack="attack")
    rates = spoof.attack_detection(trials, threshold=0.8, asv_threshold=0.5, apcers=(0.1, 0.02))
    bona_fide = data["label"] != "spoof"
    assert rates.bpcer == np.mean(data["cm"][bona_fide] < 0.8)
    apcer = {name: np.mean(data["cm"][data["attack"] == name] >= 0.8) for name in ("mask", "print", "replay")}
    assert {one.species: one.apcer for one in rates.species} == apcer
    assert rates.apcer == max(apcer.values())
    assert rates.acer == 0.5 * (rates.apcer + rates.bpcer)
    iapar = {name: np.mean(data["asv"][data["attack"] == name] >= 0.5) for name in apcer}
    assert {one.species: one.iapar for one in rates.species} == iapar
    assert rates.iapar == max(iapar.values())
    for wanted, value in rates.bpcer_at.items():
        best = min(
            np.mean(data["cm"][bona_fide] < t)
            for t in [*np.unique(data["cm"]), np.inf]
            if all(np.mean(data["cm"][data["attack"] == name] >= t) <= wanted for name in apcer)
        )
        assert value == best


def test_without_attacks_all_are_one_species():
    trials = spoof.SpoofTrials({"cm": [1.0, 2.0, 0.0, 1.5], "label": ["target", "target", "spoof", "spoof"]})
    rates = spoof.attack_detection(trials, threshold=1.2)
    assert [one.species for one in rates.species] == ["all attacks"]
    assert (rates.apcer, rates.bpcer, rates.iapar) == (0.5, 0.5, None)
    with pytest.raises(InputError, match="need the scores of a countermeasure"):
        spoof.attack_detection(spoof.SpoofTrials({"asv": [1.0, 0.0], "label": ["target", "spoof"]}))


def test_the_command_speaks_of_attack_presentations(tmp_path):
    pl.DataFrame(table()).write_csv(tmp_path / "s.csv")
    flags = (
        "--attack-column",
        "attack",
        "--vocabulary",
        "biometrics",
        "--cm-threshold",
        "0.8",
        "--json",
        "-",
    )
    code, out, err = run("spoof", tmp_path / "s.csv", *flags)
    assert code == 0, err
    told = json.loads(out)["attack_detection"]
    trials = spoof.SpoofTrials(table(), asv="asv", cm="cm", attack="attack")
    assert told["apcer"] == spoof.attack_detection(trials, threshold=0.8).apcer
    for word in ("APCER mask", "BPCER", "ACER", "IAPAR", "BPCER20", "mated comparisons"):
        assert word in err
    code, _, err = run("spoof", tmp_path / "s.csv", "--cm-threshold", "0.8")
    assert code == 2
    assert "--cm-threshold is for APCER" in err
