"""Spoofing costs against the organizers' own programs.

``asvspoof5.tsv`` holds what the functions of ASVspoof 5's evaluation package returned for the score sets of
``tests/support/generated_sets.py``, which formulas define: no data are needed. The functions are those of
github.com/asvspoof-challenge/asvspoof5, ``calculate_modules.py`` at 8db95086 and ``a_dcf.py`` at 517d5b3e,
without their printing and checks of arguments. Other tests use ASVspoof 2019 LA (development part) and are
skipped where the data are not beside the clone.
"""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from commands import run
from generated_sets import read_table, three_kinds
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit import spoof

ASV = ("asv_xvector", "asv_ecapa")
CM = ("cm_aasist", "cm_lfcc_gmm", "cm_ocsoftmax")
GENERATED = read_table(Path(__file__).with_name("asvspoof5.tsv"))


@pytest.mark.parametrize("printed", GENERATED, ids=lambda printed: printed["set"])
def test_generated_sets_against_the_organizers(printed):
    kinds = three_kinds()[printed["set"]]
    asv, cm = (np.concatenate(columns) for columns in zip(*kinds.values(), strict=True))
    labels = np.repeat(list(kinds), [len(scores) for scores, _ in kinds.values()])
    trials = spoof.SpoofTrials(
        {"asv": asv, "cm": cm, "sasv": asv + cm, "label": labels}, asv="asv", cm="cm", sasv="sasv"
    )
    result = spoof.evaluate(trials, eer="nearest")
    a_dcf, t_dcf = ({cost.name: cost.min for cost in costs} for costs in (result.a_dcf, result.t_dcf))
    found = {
        "asv_threshold": result.asv_threshold, "asv_pmiss": result.asv_rates[0],
        "asv_pfa": result.asv_rates[1], "asv_pfa_spoof": result.asv_rates[2],
        "asv_eer": spoof.eer_nearest(trials.pair("asv", ("target",), ("nontarget",))),
        "t_dcf5": t_dcf["asvspoof5"], "t_dcf2019": t_dcf["asvspoof2019"], "t_eer": result.t_eer,
        "a_dcf5": a_dcf["asvspoof5"], "a_dcf1": a_dcf["a-dcf1"],
        "sasv_eer": result.sasv_eer, "sv_eer": result.sv_eer, "spf_eer": result.spf_eer,
        "cm_eer": result.cm_eer,
    }  # fmt: skip
    countermeasure, point = (
        trials.pair("cm", ("target", "nontarget"), ("spoof",)),
        lk.OperatingPoint(0.95, 1, 10),
    )
    found["cm_cllr"] = lk.cllr(countermeasure)
    found["cm_min_dcf"], found["cm_act_dcf"] = (
        metric(countermeasure, point=point) for metric in (lk.min_dcf, lk.act_dcf)
    )
    assert {"set", *found} == set(printed)
    assert_allclose([found[name] for name in found], [printed[name] for name in found], rtol=0, atol=1e-12)
    # the exact crossings are at most one target's step away
    exact = spoof.evaluate(trials)
    step = 1 / len(kinds["target"][0])
    assert_allclose([exact.t_eer, exact.sasv_eer], [result.t_eer, result.sasv_eer], rtol=0, atol=step)


@pytest.fixture(scope="module")
def expected(shared):
    rows = (shared / "reference/spoofing.tsv").read_text().splitlines()[1:]
    return {(what, systems): float(value) for _, what, systems, value in (row.split("\t") for row in rows)}


@pytest.fixture(scope="module")
def table(shared):
    path = shared / "data/asvspoof2019_la/tandem_dev.tsv.gz"
    return pl.read_csv(path, separator="\t", infer_schema_length=None).with_columns(
        (pl.col("asv_ecapa") + pl.col("cm_aasist")).alias("sum"),
        (pl.col("asv_xvector") + pl.col("cm_lfcc_gmm")).alias("xvec+lfcc"),
    )


@pytest.mark.parametrize("system", ["sum", "xvec+lfcc"])
def test_sasv_numbers_against_the_organizers(expected, table, system):
    result = spoof.evaluate(spoof.SpoofTrials(table, sasv=system), eer="nearest")
    for cost in result.a_dcf:
        assert cost.min == pytest.approx(expected[f"min a-DCF {cost.name}", system], abs=1e-9)
    names = {"SASV-EER (target vs nontarget+spoof)": result.sasv_eer,
             "SV-EER (target vs nontarget)": result.sv_eer,
             "SPF-EER (target vs spoof)": result.spf_eer}  # fmt: skip
    for name, value in names.items():
        assert value == pytest.approx(expected[name, system], abs=1e-12)
    on_the_roc = spoof.evaluate(spoof.SpoofTrials(table, sasv=system))
    # the exact rate is at most one target's step away
    assert on_the_roc.sasv_eer == pytest.approx(result.sasv_eer, abs=1 / 1484)


@pytest.mark.parametrize("asv", ASV)
@pytest.mark.parametrize("cm", CM)
def test_tandem_numbers_against_the_organizers(expected, table, asv, cm):
    trials, systems = spoof.SpoofTrials(table, asv=asv, cm=cm), f"{asv} & {cm}"
    result = spoof.evaluate(trials, eer="nearest")
    assert result.asv_threshold == pytest.approx(expected["ASV threshold at EER", asv], abs=1e-12)
    for name, rate in zip(("ASV Pmiss", "ASV Pfa non", "ASV Pfa spoof"), result.asv_rates, strict=True):
        assert rate == pytest.approx(expected[name, asv], abs=1e-12)
    five, older = result.t_dcf
    assert five.min == pytest.approx(expected["min t-DCF asvspoof5 costs", systems], abs=1e-9)
    assert older.min == pytest.approx(expected["min t-DCF legacy 2019", systems], abs=1e-9)
    assert 100 * result.t_eer == pytest.approx(expected["concurrent t-EER", systems], abs=1e-9)
    # and the exact crossing is at most one target's step away
    assert spoof.t_eer(trials) == pytest.approx(result.t_eer, abs=1 / 1484)


@pytest.mark.parametrize("cm", ["cm_lfcc_gmm", "cm_ocsoftmax"])
def test_countermeasures_against_the_organizers(expected, shared, cm):
    trials = lk.read_trials(shared / "data/asvspoof2019_la/cm_dev.tsv.gz", score=cm)
    point = lk.OperatingPoint(0.95, 1.0, 10.0)
    result = lk.evaluate(trials, points=[point], by="attack", shared="bonafide")
    assert result.points[0].min_dcf == pytest.approx(expected["CM min DCF asvspoof5 pooled", cm], abs=1e-9)
    assert result.points[0].act_dcf == pytest.approx(expected["CM act DCF asvspoof5 pooled", cm], abs=1e-9)
    assert result.cllr == pytest.approx(expected["CM Cllr pooled", cm], abs=1e-9)
    assert spoof.eer_nearest(trials) == pytest.approx(expected["CM EER pooled", cm], abs=1e-12)
    assert list(result.groups) == [f"A0{i}" for i in range(1, 7)]
    for attack, group in result.groups.items():
        found = expected[f"CM min DCF asvspoof5 {attack}", cm]
        assert group.points[0].min_dcf == pytest.approx(found, abs=1e-9)
        own = result.shared.trials_of(trials, "attack", attack)
        assert spoof.eer_nearest(own) == pytest.approx(expected[f"CM EER {attack}", cm], abs=1e-12)


@pytest.fixture(scope="module")
def file(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("asvspoof") / "tandem.parquet"
    table.write_parquet(path)
    return path


@pytest.mark.parametrize(
    ("asv", "cm", "sasv"), [("asv_xvector", "cm_lfcc_gmm", "xvec+lfcc"), ("asv_ecapa", "cm_aasist", "sum")]
)
def test_the_command_against_the_organizers(expected, file, asv, cm, sasv):
    """With the names that scripts rely on; costs do not depend on the convention of EERs."""
    options = ("--asv-column", asv, "--cm-column", cm, "--sasv-column", sasv, "--label-column", "label",
               "--attack-column", "attack", "--json", "-")  # fmt: skip
    found = []
    for convention in ((), ("--eer", "nearest")):
        code, out, told = run("spoof", file, *options, *convention)
        assert code == 0, told
        found.append(json.loads(out))
    for result in found:
        costs = {row["name"]: row for row in result["a_dcf"]}
        tandem = {row["name"]: row for row in result["t_dcf"]}
        for name in ("asvspoof5", "a-dcf1"):
            assert costs[name]["min"] == pytest.approx(expected[f"min a-DCF {name}", sasv], abs=1e-9)
            assert costs[name]["act"] >= costs[name]["min"]
        both = f"{asv} & {cm}"
        five, older = tandem["asvspoof5"]["min"], tandem["asvspoof2019"]["min"]
        assert five == pytest.approx(expected["min t-DCF asvspoof5 costs", both], abs=1e-9)
        assert older == pytest.approx(expected["min t-DCF legacy 2019", both], abs=1e-9)
        assert list(result["attacks"]) == [f"A0{i}" for i in range(1, 7)]
    names = {"sv_eer": "SV-EER (target vs nontarget)", "spf_eer": "SPF-EER (target vs spoof)",
             "sasv_eer": "SASV-EER (target vs nontarget+spoof)"}  # fmt: skip
    exact, nearest = found
    for key, name in names.items():
        assert nearest[key] == pytest.approx(expected[name, sasv], abs=1e-12)
        assert exact[key] == pytest.approx(expected[name, sasv], abs=1 / 1484)
    wanted = expected["concurrent t-EER", both] / 100
    assert nearest["t_eer"] == pytest.approx(wanted, abs=1e-11)
    assert exact["t_eer"] == pytest.approx(wanted, abs=1 / 1484)


def test_the_command_of_two_classes_against_the_organizers(expected, shared):
    path = shared / "data/asvspoof2019_la/cm_dev.tsv.gz"
    code, out, told = run("evaluate", path, "--score-column", "cm_ocsoftmax", "--by", "attack", "--shared",
                          "target", "--point", "0.95,1,10", "--json", "-")  # fmt: skip
    assert code == 0, told
    groups = json.loads(out)["groups"]
    assert list(groups) == [f"A0{i}" for i in range(1, 7)]
    for attack, group in groups.items():
        wanted = expected[f"CM min DCF asvspoof5 {attack}", "cm_ocsoftmax"]
        assert group["points"][0]["min_dcf"] == pytest.approx(wanted, abs=1e-9)
        step = 1 / 2548 + 1 / 3716
        assert group["eer_roc"] == pytest.approx(expected[f"CM EER {attack}", "cm_ocsoftmax"], abs=step)
