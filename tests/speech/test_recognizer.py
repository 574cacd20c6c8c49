"""The whole chain on simulated frames: error rates by duration, every back-end, files, mistakes."""

from functools import cache
from inspect import signature
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import llrkit as lk
from llrkit.base.options import declared, defaults
from llrkit.simulate.speakers import FrameModel
from llrkit.speech.embeddings import Embeddings
from llrkit.speech.frames import Frames, FrontEnd
from llrkit.speech.models import BACKENDS
from llrkit.speech.options import RecognizerOptions, ScoreOptions
from llrkit.speech.recognizer import Recognizer, train_recognizer
from llrkit.speech.sides import Side

WORLD = FrameModel(n_components=8, dim=10, rank=10, strength=0.4, channel=0.25, seed=3)
SESSIONS = 4


def recorded(n_speakers, seconds, first_speaker=0):
    made = WORLD.frames(
        n_speakers=n_speakers, n_sessions=SESSIONS, seconds=seconds, first_speaker=first_speaker
    )
    return Frames.of([part.astype(np.float32) for part in made], ids=made.ids, speakers=made.speakers)


@pytest.fixture(scope="module")
def speech():
    """Training speakers, and others who enroll with their first recording and are tested with the rest."""
    others = recorded(40, 4.0, first_speaker=1000)
    first = [i for i in range(len(others)) if i % SESSIONS == 0]
    rest = [i for i in range(len(others)) if i % SESSIONS]
    return recorded(60, 2.0), others.subset(first), others.subset(rest)


@pytest.fixture(scope="module")
def recognizers(speech):
    """``recognizers("plda")`` is trained once; all but ubm-gmm have the extractor of PLDA."""

    @cache
    def get(backend, **options):
        options |= {"rng": 1, **({"iterations": 4} if backend in ("plda", "ubm-gmm") else {})}
        if backend == "ubm-gmm":
            return train_recognizer(speech[0], backend, n_gaussians=8, **options)
        if backend == "plda" and "uncertainty" not in options:
            return train_recognizer(speech[0], backend, n_gaussians=8, n_factors=8, **options)
        return train_recognizer(speech[0], backend, extractor=get("plda").extractor, **options)

    return get


def error_rate(recognizer, models, segments, **options):
    scores = recognizer.scores(models, segments, **options)
    same = models.speakers[:, None] == segments.speakers
    return lk.eer(lk.Scores(scores[same], scores[~same]))


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["plda", "ubm-gmm"])
def test_error_rates_fall_with_duration(speech, recognizers, backend):
    """Both sides cut to the first frames, as in the paper."""
    recognizer = recognizers(backend)
    rates = []
    for n_frames in (12, 50, 400):
        models = recognizer.enroll(speech[1].first(n_frames))
        rates.append(error_rate(recognizer, models, recognizer.prepare(speech[2].first(n_frames))))
    assert (np.diff(rates) < 0).all(), rates
    assert rates[0] > 0.2
    assert rates[-1] < 0.1


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_backend_separates_and_is_saved_whole(speech, recognizers, backend, tmp_path, need):
    if backend == "svm":
        need("sklearn")
    recognizer = recognizers(backend)
    models, segments = recognizer.enroll(speech[1]), recognizer.prepare(speech[2][:30])
    scores = recognizer.scores(models, segments)
    assert scores.shape == (40, 30)
    assert error_rate(recognizer, models, segments) < 0.1
    recognizer.save(tmp_path / "model.npz")
    models.save(tmp_path / "enrolled.npz")
    again, enrolled = Recognizer.load(tmp_path / "model.npz"), Side.load(tmp_path / "enrolled.npz")
    assert repr(again) == repr(recognizer)
    assert again.fingerprint == recognizer.fingerprint
    assert enrolled.speakers.tolist() == models.speakers.tolist()
    assert_allclose(again.scores(enrolled, again.prepare(speech[2][:30])), scores, rtol=1e-12)


@pytest.mark.parametrize(
    ("backend", "norm"), [*product(["plda", "ubm-gmm"], ["z", "t", "zt", "s", "as1", "as2"]), ("svm", "as2")]
)
def test_normalization_by_a_cohort_against_a_loop(speech, recognizers, backend, norm, need):
    """Cohort utterances are models and segments; the statistics are written out for one trial."""
    if backend == "svm":
        need("sklearn")
    recognizer = recognizers(backend)
    models, segments = recognizer.enroll(speech[1][:3]), recognizer.prepare(speech[2][:4])
    others = recorded(5, 1.0, first_speaker=5000)
    cohort = recognizer.cohort(others)
    top = {"top": 7} if norm.startswith("as") else {}
    found = recognizer.scores(models, segments, normalize=norm, cohort=cohort, **top)
    raw = recognizer.scores(models, segments)[1, 2]
    as_models, as_segments = recognizer.enroll(others, each=True), recognizer.prepare(others)
    z = recognizer.scores(models, as_segments)[1]
    t = recognizer.scores(as_models, segments)[:, 2]
    if norm == "zt":
        own = recognizer.scores(as_models, as_segments)
        apart = as_models.speakers[:, None] != as_segments.speakers
        moved = [(value - own[c][apart[c]].mean()) / own[c][apart[c]].std() for c, value in enumerate(t)]
        expected = ((raw - z.mean()) / z.std() - np.mean(moved)) / np.std(moved)
    elif norm in ("z", "t"):
        expected = (raw - z.mean()) / z.std() if norm == "z" else (raw - t.mean()) / t.std()
    else:
        own_z, own_t = np.argsort(-z)[:7], np.argsort(-t)[:7]
        chosen = {"s": (slice(None), slice(None)), "as1": (own_z, own_t), "as2": (own_t, own_z)}[norm]
        z, t = z[chosen[0]], t[chosen[1]]
        expected = 0.5 * ((raw - z.mean()) / z.std() + (raw - t.mean()) / t.std())
    assert_allclose(found[1, 2], expected, rtol=1e-6)


def test_several_sessions_are_better_than_one(speech, recognizers):
    recognizer = recognizers("plda")
    short = Frames.of([part[:30] for part in speech[2]], ids=speech[2].ids, speakers=speech[2].speakers)
    segments = recognizer.prepare(speech[1].first(60))
    all_three = recognizer.enroll(short)
    assert_array_equal(all_three.embeddings.columns["sessions"], 3)
    one = recognizer.enroll(short.subset(range(0, len(short), 3)))
    assert error_rate(recognizer, all_three, segments) < error_rate(recognizer, one, segments) - 0.01


@pytest.mark.slow
def test_uncertainty_helps_where_durations_differ(speech, recognizers):
    """Scores of segments of 15 and of 400 frames in one pool: trusting short ones less loses less."""
    mixed = Frames.of(
        [part[: 15 if i % 2 else 400] for i, part in enumerate(speech[2])],
        ids=speech[2].ids, speakers=speech[2].speakers,
    )  # fmt: skip
    losses = {}
    for uncertainty in (False, True):
        recognizer = recognizers("plda", **({"uncertainty": True} if uncertainty else {}))
        models, segments = recognizer.enroll(speech[1]), recognizer.prepare(mixed)
        assert (segments.embeddings.covariances is not None) == uncertainty
        scores = recognizer.scores(models, segments)
        same = models.speakers[:, None] == segments.speakers
        losses[uncertainty] = lk.cllr(lk.Scores(scores[same], scores[~same]))
    assert losses[True] < losses[False]


def test_embeddings_of_another_kind_take_the_same_way(speech, recognizers):
    """The i-vectors given as embeddings are scored like those the recognizer makes itself."""
    whole = recognizers("plda")
    parts = speech[0], speech[1][:8], speech[2][:24]
    train, enroll, test = (whole.extractor.embed(part) for part in parts)
    other = train_recognizer(train, "plda", iterations=4)
    found = other.scores(other.enroll(enroll), other.prepare(test))
    expected = whole.scores(whole.enroll(parts[1]), whole.prepare(parts[2]))
    assert_allclose(found, expected, rtol=1e-8)
    assert repr(other) == "Recognizer(plda: embeddings)"


def test_a_recognizer_keeps_its_front_end(speech, tmp_path):
    front_end = FrontEnd(sample_rate=8000, seconds=3.0)
    sizes = {"n_gaussians": 2, "n_factors": 2, "iterations": 2}
    train_recognizer(speech[0][:80], "plda", **sizes, front_end=front_end).save(tmp_path / "m.npz")
    assert Recognizer.load(tmp_path / "m.npz").extractor.front_end == front_end


def vectors(n=30, dim=3, **options):
    rng = np.random.default_rng(1)
    return Embeddings(rng.normal(size=(n, dim)), [f"v{i}" for i in range(n)], **options)


@pytest.mark.filterwarnings("ignore::llrkit.errors.SpeechWarning")
def test_mistakes(speech, recognizers, tmp_path):
    plda, gmm = recognizers("plda"), recognizers("ubm-gmm")
    on_vectors = train_recognizer(vectors(speakers=np.arange(30) // 3), "cosine")
    one_each = Frames.of(list(speech[0][:20]), speakers=[f"s{i}" for i in range(20)])
    nobody = Frames.of(list(speech[0][:4]))
    small = {"n_gaussians": 2, "n_factors": 2, "iterations": 1}
    np.savez(tmp_path / "broken.npz", schema="llrkit.recognizer/1", options='{"backend": "plda", "x": 1}')
    arrays = {"schema": "llrkit.recognizer/1", "options": '{"backend": "ubm-gmm"}'}
    mixture = {"ubm.means": np.zeros((1, 1)), "ubm.variances": np.ones((1, 1)), "ubm.log_likelihoods": []}
    np.savez(tmp_path / "half.npz", schema="llrkit.recognizer/1", options="{}")
    np.savez(tmp_path / "json.npz", schema="llrkit.recognizer/1", options="plda")
    np.savez(tmp_path / "less.npz", **arrays, **mixture)
    np.savez(tmp_path / "odd.npz", **arrays, **mixture, **{"ubm.weights": [0.5]})
    np.savez(tmp_path / "empty.npz", schema="llrkit.enrolled/1", ids=["a"], recognizer="")
    for call in (
        lambda: train_recognizer(speech[0], "i-vector"),
        lambda: train_recognizer(one_each, "plda", **small),
        lambda: train_recognizer(nobody, "plda", **small),
        lambda: train_recognizer(speech[0], "ubm-gmm", steps=["lda"]),
        lambda: train_recognizer(vectors(), "ubm-gmm"),
        lambda: train_recognizer(vectors(speakers=np.arange(30) // 3), uncertainty=True),
        lambda: RecognizerOptions(backend="cosine", uncertainty=True),
        lambda: plda.prepare(vectors()),
        lambda: gmm.prepare(vectors()),
        lambda: on_vectors.prepare(speech[1]),
        lambda: on_vectors.prepare(vectors(dim=4)),
        lambda: plda.enroll(nobody),
        lambda: plda.scores(gmm.enroll(speech[1]), plda.prepare(speech[2])),
        lambda: gmm.extractor.embed(speech[1]),
        lambda: train_recognizer(speech[0], "ubm-gmm", top_gaussians=-1),
        lambda: train_recognizer(speech[0], "ubm-gmm", relevance=0.0),
    ):
        with pytest.raises(lk.LlrkitError):
            call()
    for name in ("broken", "half", "odd", "less", "json"):
        with pytest.raises(lk.LlrkitError, match=rf"{name}\.npz: "):
            Recognizer.load(tmp_path / f"{name}.npz")
    with pytest.raises(lk.LlrkitError, match=r"empty\.npz: "):
        Side.load(tmp_path / "empty.npz")


def test_the_declared_options_of_scoring_are_the_keywords_of_the_method():
    keywords = signature(Recognizer.scores).parameters
    assert {name: keywords[name].default for name in declared(ScoreOptions)} == defaults(ScoreOptions)


def test_options_that_say_nothing_are_refused_in_python_too():
    made = vectors(speakers=np.arange(30) // 3)
    for wrong in (
        {"backend": "cosine", "rank": 2}, {"relevance": 8.0}, {"cost": 2.0}, {"adaptation": "coral"},
        {"backend": "cosine", "iterations": 3}, {"n_gaussians": 4}, {"backend": "ubm-gmm", "adapt": made},
    ):  # fmt: skip
        with pytest.raises(lk.LlrkitError):
            train_recognizer(made, **wrong)
