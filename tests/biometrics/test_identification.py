"""Identification: against brute force over score matrices, candidate lists, and commands."""

import json

import numpy as np
import polars as pl
import pytest
from commands import run

import llrkit as lk
from llrkit import biometrics
from llrkit.errors import InputError


def identify(*arguments):
    return run("biometrics", "identify", *arguments)


def matrix(seed, n_probes=60, n_gallery=20):
    """Scores of probes (rows), of which the first two thirds have a mate; rounded, so that ties occur."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_probes, n_gallery)).round(1)
    mate = np.full(n_probes, -1)
    mated = 2 * n_probes // 3
    mate[:mated] = rng.integers(0, n_gallery, mated)
    scores[np.arange(mated), mate[:mated]] += 1.5
    return scores.round(1), mate


def as_table(scores, mate):
    probe, candidate = np.indices(scores.shape)
    return {
        "score": scores.ravel(), "label": (candidate == mate[:, None]).ravel(), "probe": probe.ravel(),
        "candidate": candidate.ravel(), "person": probe.ravel() // 3,
    }  # fmt: skip


def brute_ranks(scores, mate):
    rows = np.flatnonzero(mate >= 0)
    own = scores[rows, mate[rows]]
    return np.array(
        [np.sum(np.delete(scores[i], mate[i]) >= s) + 1 for i, s in zip(rows, own, strict=True)]
    ), own


@pytest.mark.parametrize("seed", range(4))
def test_cmc_and_open_set_against_brute_force(seed):
    scores, mate = matrix(seed)
    result = biometrics.identification(lk.Trials(as_table(scores, mate)), "probe", fpir=(0.0, 0.1, 0.5, 1.0))
    ranks, own = brute_ranks(scores, mate)
    assert (result.n_mated, result.n_nonmated) == (40, 20)
    for k in range(1, 21):
        assert result.rank_rate(k) == np.mean(ranks <= k)
    top = scores[mate < 0].max(axis=1)
    for row in result.open_set:
        # no lower threshold has so few false positives
        best = min(
            np.mean((ranks > 1) | (own < t))
            for t in [-np.inf, *np.nextafter(np.unique(scores), np.inf), *np.unique(scores)]
            if np.mean(top >= t) <= row.wanted
        )
        assert row.fnir == best
        assert row.fpir == np.mean(top >= row.threshold) <= row.wanted
        assert row.dir == 1.0 - row.fnir
        assert row.fnir_interval[0] <= row.fnir <= row.fnir_interval[1]


def test_subjects_change_intervals_but_no_rate():
    scores, mate = matrix(1)
    trials = lk.Trials(as_table(scores, mate))
    alone = biometrics.identification(trials, "probe")
    grouped = biometrics.identification(trials, "probe", subject="person")
    assert alone.rank_rate(1) == grouped.rank_rate(1)
    assert alone.intervals[1] != grouped.intervals[1]
    assert grouped.n_subjects == 20


@pytest.mark.parametrize("seed", range(3))
def test_several_templates_of_a_subject_count_once_against_brute_force(seed):
    scores, mate = matrix(seed, n_gallery=24)
    person = np.arange(24) // 3  # three templates each
    table = as_table(scores, mate)
    owner = person[table["candidate"]]
    table["label"] = (mate[table["probe"]] >= 0) & (owner == person[mate[table["probe"]]])
    table["owner"] = [f"g{i}" for i in owner]
    trials = lk.Trials(table)
    by_subject = biometrics.identification(trials, "probe", gallery="owner", fpir=[0.2])
    best = scores.reshape(len(scores), 8, 3).max(axis=2)
    ranks = [
        1 + sum(best[i, j] >= best[i, person[m]] for j in range(8) if j != person[m])
        for i, m in enumerate(mate) if m >= 0
    ]  # fmt: skip
    for k in range(1, 9):
        assert by_subject.rank_rate(k) == np.mean(np.array(ranks) <= k)
    by_template = biometrics.identification(trials, "probe", fpir=[0.2])
    found = [sum(map(one.rank_rate, range(1, 9))) for one in (by_template, by_subject)]
    assert found[0] < found[1]
    assert by_template.open_set[0].fpir == by_subject.open_set[0].fpir
    # the enrollment side of the trials is taken without being named
    enrolled = lk.Trials(table, enroll="owner", test="probe")
    assert biometrics.identification(enrolled, fpir=[0.2]).to_dict() == by_subject.to_dict()


def test_score_matrices_are_searches_as_they_are(tmp_path, need):
    h5py = need("h5py")
    scores, mate = matrix(7)
    gallery, probes = [f"g{j}" for j in range(20)], [f"p{i}" for i in range(60)]
    lines = [
        ",".join(["", *probes]),
        *(",".join([g, *map(str, scores[:, j])]) for j, g in enumerate(gallery)),
    ]
    (tmp_path / "matrix.csv").write_text("\n".join(lines) + "\n")
    key = [f"{g} {p} {'target' if mate[i] == j else 'nontarget'}"
           for i, p in enumerate(probes) for j, g in enumerate(gallery)]  # fmt: skip
    (tmp_path / "key.txt").write_text("\n".join(key) + "\n")
    with h5py.File(tmp_path / "scores.h5", "w") as file:  # as BOSARIS writes them
        file["ID/row_ids"] = np.array(gallery, dtype="S")
        file["ID/column_ids"] = np.array(probes, dtype="S")
        file["scores"] = scores.T
        file["score_mask"] = np.ones((20, 60), dtype=np.int8)
    expected = brute_ranks(scores, mate)[0]
    for name in ("matrix.csv", "scores.h5"):
        code, out, err = run(
            "biometrics", "identify", tmp_path / name, "--key", tmp_path / "key.txt", "--json", "-"
        )
        assert code == 0, err
        told = json.loads(out)
        assert (told["n_mated"], told["n_nonmated"]) == (40, 20)
        assert told["cmc"][:3] == [np.mean(expected <= k) for k in (1, 2, 3)]


def test_files_in_batches_agree_with_memory(tmp_path):
    table = as_table(*matrix(2))
    pl.DataFrame(table).write_parquet(tmp_path / "s.parquet", row_group_size=100)
    here = biometrics.identification(lk.Trials(table), "probe")
    there = biometrics.identification(lk.scan_trials(tmp_path / "s.parquet"), "probe")
    assert here.to_dict() == there.to_dict()


def candidate_lists(folder, scores, mate, length):
    lines = ["searchId candidateRank searchRetCode isAssigned templateId score"]
    for i, row in enumerate(scores):
        for place, j in enumerate(np.argsort(-row, kind="stable")[:length]):
            lines.append(f"s{i} {place} 0 1 t{j} {row[j]}")
        lines.append(f"s{i} {length} 0 0 none 0")
    (folder / "search.log").write_text("\n".join(lines) + "\n")
    key = ["searchId templateId", *(f"s{i} {'-' if m < 0 else f't{m}'}" for i, m in enumerate(mate))]
    (folder / "mates.txt").write_text("\n".join(key) + "\n")


def test_candidate_lists_of_nist(tmp_path):
    rng = np.random.default_rng(5)
    scores, mate = matrix(5)
    scores = scores + 1e-6 * rng.normal(size=scores.shape)  # no ties: lists keep all that are before a mate
    candidate_lists(tmp_path, scores, mate, 4)
    code, out, err = identify(tmp_path / "search.log", "--mates", tmp_path / "mates.txt", "--rank", 1,
                         "--rank", 3, "--fpir", "10%", "--json", "-")  # fmt: skip
    assert code == 0, err
    told = json.loads(out)
    ranks, own = brute_ranks(scores, mate)
    assert [row["rate"] for row in told["ranks"]] == [np.mean(ranks <= 1), np.mean(ranks <= 3)]
    assert told["n_mated"] == 40
    row = told["open_set"][0]
    assert row["fnir"] == np.mean((ranks > 1) | (own < row["threshold"]))


def test_candidate_lists_with_several_mates_and_searches_that_return_nothing(tmp_path):
    lines = [
        "searchId candidateRank searchRetCode isAssigned templateId score",
        "a 0 0 1 t9 5.0", "a 1 0 1 t2 4.0", "a 2 0 1 t1 3.0",  # two templates of its subject: rank 2
        "b 0 1 0 none 0", "b 1 1 0 none 0",  # a mated search that failed
        "c 0 0 1 t1 1.0", "d 0 0 0 none 0",  # non-mated; the second returned nothing
    ]  # fmt: skip
    (tmp_path / "search.log").write_text("\n".join(lines) + "\n")
    (tmp_path / "mates.txt").write_text("a t1\na t2\nb t4\nc -\nd -\n")
    options = ("--rank", 1, "--rank", 2, "--fpir", "0.5", "--fnir-rank", 2, "--json", "-")
    code, out, err = run(
        "biometrics", "identify", tmp_path / "search.log", "--mates", tmp_path / "mates.txt", *options
    )
    assert code == 0, err
    told = json.loads(out)
    assert (told["n_mated"], told["n_nonmated"]) == (2, 2)
    assert [row["rate"] for row in told["ranks"]] == [0.0, 0.5]
    assert (told["open_set"][0]["fpir"], told["open_set"][0]["fnir"]) == (0.5, 0.5)
    for mates in ('a t1\na -\nb t4\nc -\nd -\n', 'a t1\nb t4\nc -\nd -\ne -\n',):  # fmt: skip
        (tmp_path / "mates.txt").write_text(mates)
        code, _, err = run(
            "biometrics", "identify", tmp_path / "search.log", "--mates", tmp_path / "mates.txt"
        )
        assert code == 2


def test_a_search_that_returned_nothing_is_no_false_positive_at_any_fpir():
    table = {"score": [3.0, 1.0, -np.inf], "label": [1, 0, 0], "probe": ["a", "b", "c"]}
    (row,) = biometrics.identification(lk.Trials(table), "probe", fpir=(1.0,)).open_set
    assert (row.fpir, row.n_false_positives, row.fnir) == (0.5, 1, 0.0)


def test_models_of_bob_files_count_once_for_each_client(tmp_path):
    lines = ["c0 m0 c0 p0 2.0", "c1 m1 c0 p0 3.0", "c1 m2 c0 p0 4.0", "c2 m3 c0 p0 1.0"]
    lines += [f"c{j} m{j} x p1 {s}" for j, s in enumerate((0.5, 0.25, 0.0))]
    (tmp_path / "scores-dev").write_text("\n".join(lines) + "\n")
    code, out, err = identify(tmp_path / "scores-dev", "--rank", 2, "--json", "-")
    assert code == 0, err
    assert json.loads(out)["ranks"][0]["rate"] == 1.0  # two models of one client are before it


def test_wrong_use_is_refused(tmp_path):
    table = as_table(*matrix(1))
    with pytest.raises(InputError):
        biometrics.identification(lk.Trials(table), "probe", ranks=(0,))
    with pytest.raises(InputError):
        biometrics.identification(lk.Trials(table), "probe", subject="candidate")
    with pytest.raises(InputError):
        biometrics.identification(lk.Trials({**table, "in": ["no"] * 1200}), "probe", enrolled="in")
    with pytest.raises(InputError):
        biometrics.identification(lk.Trials({**table, "times": [2] * 1200}, weight="times"), "probe")
    scores, mate = matrix(5)
    candidate_lists(tmp_path, scores, mate, 4)
    (tmp_path / "few.txt").write_text("searchId templateId\ns0 t1\n")
    code, _, _ = identify(tmp_path / "search.log", "--mates", tmp_path / "few.txt")
    assert code == 2
