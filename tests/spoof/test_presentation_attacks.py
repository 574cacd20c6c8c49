"""APCER, BPCER, ACER and IAPAR against brute force."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

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
    with pytest.raises(InputError):
        spoof.attack_detection(spoof.SpoofTrials({"asv": [1.0, 0.0], "label": ["target", "spoof"]}))


def test_subjects_change_intervals_but_no_rate():
    """Against another route: each subject left out by hand, on the logit scale."""
    data = table(n=3000)
    rng = np.random.default_rng(2)
    who = rng.integers(0, 40, 3000)
    data["cm"] = data["cm"] + 1.2 * rng.normal(size=40)[who]
    trials = spoof.SpoofTrials(data | {"who": who}, asv="asv", cm="cm", attack="attack")
    options = {"threshold": 0.8, "asv_threshold": 0.5}
    alone = spoof.attack_detection(trials, **options)
    shared = spoof.attack_detection(trials, **options, speakers="who")
    assert (shared.bpcer, shared.n_subjects) == (alone.bpcer, 40)
    for one, other in zip(alone.species, shared.species, strict=True):
        assert (one.apcer, one.iapar, one.n) == (other.apcer, other.iapar, other.n)
        assert np.ptp(other.interval) > 1.3 * np.ptp(one.interval)
        own = data["attack"] == one.species
        rates = [np.mean(data["cm"][own & (who != i)] >= 0.8) for i in range(40)]
        logits = np.log(rates / (1 - np.array(rates)))
        error = np.sqrt(39 / 40 * np.sum((logits - logits.mean()) ** 2))
        half = np.ptp(np.log(np.array(other.interval) / (1 - np.array(other.interval)))) / 2
        # between the quantile of a Gaussian and one for few effective subjects
        assert 1.9 < half / error < 3.0
        assert other.iapar_interval[0] < other.iapar < other.iapar_interval[1]
        # the ASV scores do not depend on the subject
        assert np.ptp(other.iapar_interval) < 1.6 * np.ptp(one.iapar_interval)
    assert "40 subjects" in shared.note
    assert "independent" in alone.note


def test_kinds_that_are_missing_leave_out_what_needs_them(tmp_path):
    frame = pl.DataFrame(table())
    for kind, reported in (("nontarget", "APCER"), ("spoof", "SV-EER")):
        frame.filter(pl.col("label") != kind).write_csv(tmp_path / "s.csv")
        code, out, err = run("spoof", tmp_path / "s.csv", "--vocabulary", "biometrics")
        assert code == 0, err
        assert reported in out
        assert "IAPAR" not in out


def test_the_command_gives_the_rates_of_the_library(tmp_path):
    people = pl.DataFrame(table()).with_columns(pl.Series("who", np.arange(600) % 30))
    people.write_csv(tmp_path / "s.csv")
    flags = ("--attack-column", "attack", "--vocabulary", "biometrics", "--speakers", "who", "--json", "-")
    code, out, err = run("spoof", tmp_path / "s.csv", "--cm-threshold", "0.8", *flags)
    assert code == 0, err
    told = json.loads(out)["attack_detection"]
    trials = spoof.SpoofTrials(table(), asv="asv", cm="cm", attack="attack")
    assert told["apcer"] == spoof.attack_detection(trials, threshold=0.8).apcer
    assert told["n_subjects"] == 30
    assert run("spoof", tmp_path / "s.csv", "--cm-threshold", "0.8")[0] == 2


def test_worst_apcer_acer_and_bpcer_at_an_apcer_have_intervals():
    rng = np.random.default_rng(5)
    labels = ["target"] * 300 + ["spoof"] * 400
    trials = spoof.SpoofTrials(
        {"cm": np.repeat([2.0, -1.0], [300, 400]) + rng.normal(size=700), "label": labels,
         "attack": ["-"] * 300 + ["a", "b"] * 200}, attack="attack",
    )  # fmt: skip
    rates = spoof.attack_detection(trials, threshold=0.5)
    plain = rates.to_dict()
    assert plain["apcer_interval"] == rates.worst.interval
    low, high = plain["acer_interval"]
    assert low < rates.acer < high
    # of two independent rates: the variances of both, over four
    width = sum((end[1] - end[0]) ** 2 for end in (rates.worst.interval, rates.bpcer_interval)) ** 0.5 / 2
    assert high - low == pytest.approx(width, rel=0.02)
    shown = {name: note for name, _, note in rates.rows()}
    assert all(shown[name].startswith("[") for name in ("BPCER", "APCER", "ACER"))
    assert "those of the BPCER at an APCER include that these gave its threshold" in rates.note
    assert all(shown[name].startswith("[") for name in ("BPCER10", "BPCER20"))
    assert "no interval: too few errors" in shown["BPCER100"]  # two attacks of a species at most
    assert plain["bpcer_at_intervals"]["0.01"] is None


def test_bpcer_at_an_apcer_against_resampled_subjects():
    """The worst species decides; subjects drawn with replacement move its threshold and the BPCER."""
    rng = np.random.default_rng(8)
    n, people = 6000, 60
    label = np.repeat(["target", "spoof"], n // 2)
    who = rng.integers(0, people, n)
    own = 0.8 * rng.normal(size=(2, people))[(label == "spoof").astype(int), who]
    attack = np.where(label == "spoof", np.resize(["easy", "hard"], n), "-")
    cm = np.select([label == "target", attack == "hard"], [3.0, 0.8], -1.0) + own + rng.normal(size=n)
    table = {"cm": cm, "label": label, "attack": attack, "who": who}
    rates = spoof.attack_detection(
        spoof.SpoofTrials(table, attack="attack"), threshold=1.0, apcers=[0.1], speakers="who"
    )
    low, high = rates.bpcer_at_intervals[0.1]
    bona_fide, hard = label == "target", attack == "hard"

    def bpcer(times):
        order = np.argsort(-cm[hard])
        passed = np.cumsum(times[who[hard]][order]) / times[who[hard]].sum()
        cut = cm[hard][order][np.argmax(passed > 0.1)]
        return np.average(cm[bona_fide] <= cut, weights=times[who[bona_fide]])

    assert rates.bpcer_at[0.1] == pytest.approx(bpcer(np.ones(people)), abs=1 / bona_fide.sum())
    draws = [bpcer(np.bincount(rng.integers(0, people, people), minlength=people)) for _ in range(400)]
    assert (low, high) == pytest.approx(np.quantile(draws, [0.025, 0.975]), rel=0.25)
    alone = spoof.attack_detection(spoof.SpoofTrials(table, attack="attack"), threshold=1.0, apcers=[0.1])
    assert np.ptp(alone.bpcer_at_intervals[0.1]) < 0.7 * (high - low)


def test_an_apcer_of_zero_is_shown():
    trials = spoof.SpoofTrials(table(), cm="cm")
    rates = spoof.attack_detection(trials, apcers=(0.0, 0.1))
    shown = {name: note for name, _, note in rates.rows()}
    assert shown["BPCER at 0"].endswith("BPCER at APCER 0.00 %")
    assert "BPCER10" in shown
    assert "BPCER at 0" in repr(rates)
