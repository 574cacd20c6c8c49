"""Spoofs, attacks, groups of people and searches: a cluster gives the numbers of memory."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit import biometrics, spoof

pytestmark = pytest.mark.slow
RNG = np.random.default_rng(5)
N = (150, 200, 260)
KIND = np.repeat(["target", "nontarget", "spoof"], N)
SYSTEMS = ["asv", "cm", "sasv"]


@pytest.fixture(scope="module")
def table():
    frame = pl.DataFrame(
        {
            "asv": np.round(np.repeat([2.0, -2.0, 1.5], N) + 1.5 * RNG.normal(size=sum(N)), 1),
            "cm": np.round(np.repeat([2.0, 2.0, -2.0], N) + 1.5 * RNG.normal(size=sum(N)), 1),
            "label": KIND,
            "attack": np.where(KIND == "spoof", RNG.choice(["A01", "A02"], sum(N)), "-"),
            "speaker": [f"s{i:02}" for i in RNG.integers(0, 25, sum(N))],
            "sex": RNG.choice(["f", "m"], sum(N)),
            "probe": RNG.integers(0, 40, sum(N)),
            "model": RNG.integers(0, 9, sum(N)),
            "failed": RNG.choice(["", "fta"], sum(N), p=[0.95, 0.05]),
        }
    )
    # rows in any order, so that partitions differ in what they hold
    mixed = frame.with_columns((pl.col("asv") + pl.col("cm")).round(1).alias("sasv"))
    return mixed.sample(fraction=1.0, shuffle=True, seed=1)


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("kinds") / "scores.parquet"
    table.write_parquet(path, row_group_size=150)
    return path


def numbers(result):
    """All numbers of a result, by their place."""

    def walk(plain, place):
        if isinstance(plain, dict):
            for key, value in plain.items():
                yield from walk(value, (*place, key))
        elif isinstance(plain, (list, tuple)):
            for i, value in enumerate(plain):
                yield from walk(value, (*place, i))
        elif isinstance(plain, (int, float)):
            yield place, float(plain)

    return dict(walk(result if isinstance(result, dict) else result.to_dict(), ()))


def assert_same(found, expected):
    found, expected = numbers(found), numbers(expected)
    assert found.keys() == expected.keys()
    assert len(found) > 5
    assert_allclose(list(found.values()), list(expected.values()), rtol=1e-9)


def test_spoofing_trials(table, path, client):
    there = lk.DaskSource.from_parquet(path, client, score=SYSTEMS, label="label", positive="target")
    made = [spoof.SpoofTrials(source, attack="attack") for source in (there, table)]
    assert_same(*(spoof.evaluate(trials, speakers="speaker") for trials in made))
    assert_same(*(spoof.attack_detection(trials, speakers="speaker") for trials in made))
    for options in ({"counting": "joint"}, {"asv_threshold": "free"}, {"asv_threshold": 0.4}):
        found, expected = (spoof.min_t_dcf(trials, **options) for trials in made)
        assert found == pytest.approx(expected, rel=1e-12)
    curves = [spoof.t_dcf_curve(trials, "asvspoof2019") for trials in made]
    assert_allclose(curves[0].cost, curves[1].cost, rtol=1e-12)
    assert spoof.a_dcf(made[0], "a-dcf1") == spoof.a_dcf(made[1], "a-dcf1")
    fused = [trials.fused(spoof.fit_sasv(trials, "bayes")) for trials in made]
    assert spoof.min_a_dcf(fused[0]) == pytest.approx(spoof.min_a_dcf(fused[1]), rel=1e-6)


def test_two_classes(table, path, client):
    options = {"score": "asv", "label": "label", "positive": "target"}
    there = lk.DaskSource.from_parquet(path, client, **options)
    here = lk.read_trials(path, **options)
    for shared in ("target", None):
        assert_same(*(lk.evaluate(source, by="attack", shared=shared) for source in (there, here)))
    for options in ({"fmr": 0.1}, {"threshold": 0.5, "speakers": "speaker"}):
        assert_same(*(biometrics.differential(source, "sex", **options) for source in (there, here)))
    searches = {"subject": None, "gallery": "model", "fpir": [0.5]}
    assert_same(*(biometrics.identification(source, "probe", **searches) for source in (there, here)))
    rates = {"failures": "failed", "speakers": "speaker"}
    assert_same(
        *(biometrics.verification_rates(source, fmr=[0.1, 0.01], **rates) for source in (there, here))
    )


def test_the_command(path, need):
    need("distributed")
    options = ("--attack-column", "attack", "--speakers", "speaker", "--vocabulary", "biometrics")
    results = []
    for engine in (("--workers", 1), ()):
        code, out, told = run("spoof", path, *options, *engine, "--json", "-")
        assert code == 0, told
        results.append(json.loads(out))
    assert_same(*results)


@pytest.mark.parametrize("option", [("--missing-scores", "drop"), ("--encoding", "latin-1")])
def test_what_a_cluster_cannot_do_is_refused_before_it_is_started(path, option):
    code, out, told = run("spoof", path, "--workers", 1, *option)
    assert (code, out) == (2, "")
    assert f"{option[0]} does not go together with a cluster" in told
