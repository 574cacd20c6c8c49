"""fit_adapted(): shifts that are undone, and those that are refused with the reason."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import llrkit as lk
from llrkit.shift.adapt import few_llrs, shrunk_line


def pair(rng, n_target, n_nontarget, slope=1.0, offset=0.0, **moves):
    target = rng.normal(4.0, 1.0, n_target) * moves.get("spread", 1.0) + moves.get("target", 0.0)
    nontarget = rng.normal(0.0, 1.0, n_nontarget)
    return lk.Scores(slope * target + offset, slope * nontarget + offset)


@pytest.fixture(scope="module")
def trained():
    return lk.calibrate(pair(np.random.default_rng(1), 2_000, 20_000), bound="none").map


def loss(fitted, trials):
    return lk.cllr(fitted.on(trials))


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("slope", "offset", "share"), [(1.5, 2.0, 0.1), slow(0.7, 0.0, 0.3), slow(1.0, 2.0, 0.02)]
)
def test_a_common_move_is_undone_as_well_as_labels_would(trained, slope, offset, share):
    n = 10_000
    new = pair(np.random.default_rng(2), round(share * n), round((1 - share) * n), slope, offset)
    adapted = lk.fit_adapted(trained, new)
    told = adapted.details["adaptation"]
    assert told["rung"] == "common move"
    assert_allclose(told["share"], share, rtol=0.15)
    assert loss(adapted, new) < loss(lk.fit_logistic(new), new) + 0.005 < loss(trained, new) - 0.05
    # the line that undoes the move, in closed form: the LLR of s is that of (s - offset) / slope
    at = np.linspace(offset - slope, offset + 5.0 * slope, 7)
    assert_allclose(adapted(at, outside="ignore"), trained((at - offset) / slope), atol=0.7)


@pytest.mark.slow
def test_classes_that_move_and_spread_on_their_own_need_a_higher_rung(trained):
    rng = np.random.default_rng(3)
    new = lk.Scores(rng.normal(6.5, 1.5, 1_000), rng.normal(-0.5, 0.8, 15_000))
    adapted = lk.fit_adapted(trained, new)
    assert adapted.details["adaptation"]["rung"] == "free spread"
    assert loss(adapted, new) < loss(lk.fit_logistic(new), new) + 0.003
    assert loss(adapted, new) < loss(trained, new)


def test_without_a_shift_the_map_stays_as_it_is(trained):
    new = pair(np.random.default_rng(4), 300, 6_000)
    adapted = lk.fit_adapted(trained, new)
    assert adapted.details["adaptation"]["rung"] == "no shift"
    at = np.linspace(-5.0, 9.0, 30)
    assert adapted(at, outside="ignore").tolist() == trained(at, outside="ignore").tolist()


@pytest.mark.slow
def test_labels_are_not_looked_at_and_arrays_do_as_well(trained):
    new = pair(np.random.default_rng(5), 300, 1_000, 1.4, 1.0)
    maps = [
        lk.fit_adapted(trained, given)
        for given in (new, lk.Scores(new.nontarget, new.target), np.append(new.target, new.nontarget))
    ]
    assert maps[0].to_dict() == maps[1].to_dict() == maps[2].to_dict()


@pytest.mark.slow
def test_an_adapted_map_is_saved_checked_and_adapted_once_more(trained, tmp_path):
    rng = np.random.default_rng(6)
    adapted = lk.fit_adapted(trained, pair(rng, 1_000, 9_000, 1.4, 1.0))
    adapted.save(tmp_path / "map.json")
    again = lk.load_map(tmp_path / "map.json")
    at = np.linspace(-4.0, 8.0, 20)
    assert again(at, outside="ignore").tolist() == adapted(at, outside="ignore").tolist()
    # scores of the new domain are no shift any more, those of a third one are
    assert not lk.check_shift(again, pair(rng, 500, 4_500, 1.4, 1.0)).is_harmful
    third = pair(rng, 1_000, 9_000, 0.8, -1.0)
    assert loss(lk.fit_adapted(again, third), third) < loss(lk.fit_logistic(third), third) + 0.01


REFUSED = {
    "two modes": lambda rng: rng.normal(2.0, 2.2, 10_000),
    "a hard edge": lambda rng: np.minimum(
        np.append(rng.normal(6.0, 1.0, 2_000), rng.normal(2.0, 1.0, 8_000)), 6.0
    ),
    "no move of the training classes": lambda rng: np.concatenate(
        [rng.normal(5.0, 0.5, 3_000), rng.uniform(-9.0, 3.0, 5_000), rng.normal(-8.0, 0.3, 5_000)]
    ),
    "targets; at least 50": lambda rng: np.append(rng.normal(5.5, 1.0, 8), rng.normal(1.5, 1.0, 3_000)),
    "too few to tell": lambda rng: rng.normal(2.0, 1.0, 100),
    # targets of a wider spread look like a move per class, after which the old map would be worse
    "wide targets": lambda rng: np.append(rng.normal(4.0, 1.6, 5_000), rng.normal(0.0, 1.0, 45_000)),
    "skewed": lambda rng: np.append(rng.normal(4.0, 1.0, 5_000), rng.gamma(2.0, 0.8, 20_000) - 1.6),
}


@pytest.mark.parametrize("reason", ["two modes", *(slow(reason) for reason in list(REFUSED)[1:])])
def test_what_scores_do_not_tell_is_refused(trained, reason):
    with pytest.raises(lk.errors.AdaptationError):
        lk.fit_adapted(trained, REFUSED[reason](np.random.default_rng(7)))


@pytest.mark.slow
def test_a_share_outside_of_what_was_given_is_refused_and_one_inside_is_kept(trained):
    new = pair(np.random.default_rng(8), 1_000, 9_000, 1.0, 1.0)
    with pytest.raises(lk.errors.AdaptationError):
        lk.fit_adapted(trained, new, share=(0.2, 0.5))
    for share in (0.1, (0.05, 0.2)):
        told = lk.fit_adapted(trained, new, share=share).details["adaptation"]
        assert_allclose(told["share"], 0.1, rtol=0.1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::llrkit.errors.NoOverlapWarning")
@pytest.mark.parametrize("n", [5, 15, 50, 100])
def test_a_few_labels_are_never_much_worse_than_the_map_nor_than_they_alone(n):
    """LLRs of which labels alone can tell that they are too high, too strong, or right as they are."""
    rng = np.random.default_rng(10)
    for slope, offset in ((1.0, 0.0), (0.5, 0.0), (1.0, 4.0)):
        target, nontarget = rng.normal(4.0, 8.0**0.5, 20_000), rng.normal(-4.0, 8.0**0.5, 20_000)
        llrs = lk.Scores(target / slope + offset, nontarget / slope + offset)
        old, got, alone = lk.cllr(llrs), [], []
        for seed in range(20):
            draw = np.random.default_rng([seed, n])
            few = lk.Scores(draw.choice(llrs.target, n), draw.choice(llrs.nontarget, n))
            line = shrunk_line(few.target, few.nontarget)
            got.append(loss(lk.maps.AffineMap(a=line.slope, b=line.offset), llrs))
            alone.append(loss(lk.fit_cmlg(few), llrs))
        assert np.mean(got) < 1.05 * old
        assert np.mean(got) < 1.1 * np.mean(alone) + (0.15 if n == 5 else 0.02)
        if n == 100:
            assert np.mean(got) < lk.cllr(lk.Scores(target, nontarget)) + 0.02


def test_a_few_labels_that_agree_change_little(trained):
    rng = np.random.default_rng(11)
    new = pair(rng, 300, 3_000)
    few = pair(rng, 10, 10)
    adapted = lk.fit_adapted(trained, new, labeled=few)
    assert loss(adapted, new) < 1.05 * loss(trained, new) + 0.01
    assert adapted.details["few_labels"]["n_target"] == 10


@pytest.mark.slow
def test_one_label_far_out_does_not_turn_a_map_that_the_scores_confirm(trained):
    rng = np.random.default_rng(12)
    new, few = pair(rng, 300, 3_000), pair(rng, 15, 15)
    few = lk.Scores(np.append(few.target[1:], -8.0), few.nontarget)
    assert loss(lk.fit_adapted(trained, new, labeled=few), new) < 1.05 * loss(trained, new)
    assert shrunk_line(*few_llrs(trained.on(few))).slope < 0.5  # which is what that label asks for


@pytest.mark.slow
def test_labels_bound_what_no_move_describes(trained):
    rng = np.random.default_rng(13)
    new = lk.Scores(rng.normal(2.0, 2.2, 500), rng.normal(2.0, 2.2, 4_500))
    few = lk.Scores(new.target[:9], new.nontarget[:19])
    adapted = lk.fit_adapted(trained, new, labeled=few)
    assert_allclose([adapted.low, adapted.high], [-np.log(10.0), np.log(20.0)])
    assert loss(trained, new) > 2.0
    assert loss(adapted, new) < 1.2
    with pytest.raises(lk.InputError):
        lk.check_shift(adapted, new)  # nobody knows them here


def test_labels_without_scores_to_look_at(trained):
    rng = np.random.default_rng(14)
    few, new = pair(rng, 40, 40, 1.0, 2.0), pair(rng, 2_000, 8_000, 1.0, 2.0)
    adapted = lk.fit_adapted(trained, few.target, labeled=few)
    assert "too few to tell" in adapted.details["few_labels"]["unlabeled"]
    assert loss(adapted, new) < 0.5 * loss(trained, new)


@pytest.mark.slow
def test_a_fusion_is_checked_and_adapted():
    rng = np.random.default_rng(15)

    def trials(n_target, n_nontarget, slope=1.0, offset=0.0):
        target, nontarget = (
            rng.normal(mean, 1.0, (n, 2)) for mean, n in (([3.0, 2.0], n_target), (0.0, n_nontarget))
        )
        return lk.Scores(slope * target + offset, slope * nontarget + offset)

    train, same, moved = trials(1_000, 4_000), trials(300, 3_000), trials(500, 4_500, 1.4, 0.7)
    fused = lk.calibrate(train, method=lk.fit_fusion).map
    assert not lk.check_shift(fused, same).is_shifted
    assert lk.check_shift(fused, moved).is_harmful
    adapted = lk.fit_adapted(fused, moved)
    assert loss(adapted, moved) < loss(lk.fit_fusion(moved), moved) + 0.01 < loss(fused, moved) - 0.3
    assert not lk.check_shift(adapted, trials(300, 3_000, 1.4, 0.7)).is_shifted


@pytest.fixture(scope="module")
def real(shared):
    """Training and evaluation scores of the set with the largest shift."""
    with np.load(shared / "data/spkr_shift_psr/spkr_verif.npz") as arrays:
        odds = {part: np.diff(arrays[f"{part}_logpost"].astype(np.float64))[:, 0] for part in ("trn", "tst")}
        return tuple(lk.Scores.from_labels(odds[part], arrays[f"{part}_target"]) for part in odds)


@pytest.mark.slow
def test_the_shift_of_speakers_is_undone(real):
    train, test = real
    fitted = lk.calibrate(train, bound="none").map
    assert loss(fitted, test) > 0.68
    assert loss(lk.fit_adapted(fitted, test), test) < 0.010
    check = lk.check_shift(fitted, test)
    assert check.is_harmful
    assert check.harm > 0.5
    low, high = check.harm_interval
    assert low < loss(fitted, test) - loss(lk.fit_logistic(test), test) < high < 0.75


def spoofing(shared, part, score):
    pl = pytest.importorskip("polars")
    table = pl.read_csv(
        shared / f"data/asvspoof2019_la/{part}.tsv.gz", separator="\t", infer_schema_length=None
    )
    if part.startswith("tandem"):
        table = table.filter(pl.col("label") != "spoof")
    return lk.Trials(table, score=score)


@pytest.mark.slow
@pytest.mark.parametrize(("score", "limit"), [("asv_xvector", 0.0925), ("asv_ecapa", 0.0985)])
def test_the_shift_of_verification_is_undone(shared, score, limit):
    train, test = (spoofing(shared, f"tandem_{part}", score) for part in ("dev", "eval"))
    adapted = lk.fit_adapted(train, test)
    assert adapted.details["adaptation"]["rung"] == "common move"
    assert loss(adapted, test) < limit


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::llrkit.errors.ScaleWarning")
@pytest.mark.parametrize(
    ("score", "limit"), [("cm_lfcc_gmm", 0.55), ("cm_ocsoftmax", 0.30), ("cm_timeemb", 0.83)]
)
def test_new_attacks_are_refused_and_bounds_by_attack_hold(shared, score, limit):
    train, test = (spoofing(shared, f"cm_{part}", score) for part in ("dev", "eval"))
    with pytest.raises(lk.errors.AdaptationError):
        lk.fit_adapted(train, test)
    check = lk.check_shift(train, test)
    assert check.is_harmful
    assert np.isnan(check.harm)
    bounded = lk.calibrate(train, groups="attack").map
    assert_allclose(bounded.high, np.log(7.0))  # six attacks
    assert loss(bounded, test) < limit
