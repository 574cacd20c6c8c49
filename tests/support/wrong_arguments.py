"""What the docstrings of public functions do not promise to take, from the names and types of parameters."""

import functools
import importlib
import inspect
import math
from dataclasses import fields

import drawn
import numpy as np

import llrkit as lk
from llrkit.verbs import options

ROOMS = (
    "llrkit", "llrkit.theory", "llrkit.spoof", "llrkit.biometrics", "llrkit.multiclass", "llrkit.speech",
    "llrkit.simulate", "llrkit.scores", "llrkit.metrics", "llrkit.maps", "llrkit.fits", "llrkit.trust",
)  # fmt: skip
"""Rooms with functions that take data; what plots draw and how is tried in tests/plot."""
NAN = math.nan
SHARE = (-0.1, 1.5, NAN, "half")
ABOVE_ZERO = (-1.0, NAN, "wide")
COUNT = (-1, 2.5, "three")
NAME = ("no such name", 17)
COLUMN = ("no such column", 17)
NUMBERS = ("x", {"a": 1})
BY_TYPE = {
    "bool": ("no",),
    "int": COUNT,
    "float": (NAN, "x"),
    "str": (17,),
    "RNG": (-1, "x", 0.5),
    "Prior": ("no such prior", [-1.0, 1.0, 1.0], [0.5, 0.5]),
    "npt.ArrayLike": NUMBERS,
}
DATA = {
    "ScoreSource", "ClassSource", "SpoofTrials", "Trials", "Embeddings", "E", "Embeddings | npt.ArrayLike",
    "Trainable", "Map", "AnyTrials", "Map | AnyTrials", "Measurements", "ClassEvaluation", "PLDA",
    "DiagonalGMM", "Statistics", "SpeakerGMMs", "CalibratedPair", "Population", "Frames | Embeddings",
    "Backend",
}  # fmt: skip
BY_NAME = {
    **dict.fromkeys(("level", "prior", "alpha", "p_known", "prevalence", "false_alarm_rate", "fmr"), SHARE),
    **dict.fromkeys(("miss_rate", "share", "fpir", "apcers", "prevalences", "p", "eer"), SHARE),
    **dict.fromkeys(
        ("step", "limit", "bandwidth", "relevance", "variance_floor", "sigma", "cllr"), ABOVE_ZERO
    ),
    **dict.fromkeys(("ratio", "degrees", "df", "regularization", "shrinkage", "robust", "tilt"), ABOVE_ZERO),
    **dict.fromkeys(("scale", "abstain"), ABOVE_ZERO),
    "weights": ("no such prior",),
    **dict.fromkeys(("speakers", "groups", "recordings", "by", "column", "columns", "leave_out"), COLUMN),
    **dict.fromkeys(("probe", "failures", "subject", "enrolled", "gallery", "equalize"), COLUMN),
    **dict.fromkeys(("point", "points"), ("no such point", 1.5, NAN)),
    **dict.fromkeys(("method", "methods", "features", "missing", "ties", "smoothing", "laplace"), NAME),
    **dict.fromkeys(("ends", "outside", "sigma_from", "supervised", "basis", "rule", "bound"), NAME),
    **dict.fromkeys(("evaluation", "preset", "style", "words", "given", "ci", "band", "split"), NAME),
    **dict.fromkeys(("system", "renderer", "axes", "counting", "adaptation", "scorer"), NAME),
    **dict.fromkeys(("normalize", "selection", "dtype", "refine_by", "backend", "costs", "tandem"), NAME),
    **dict.fromkeys(("name", "bad_files", "duplicates", "missing_scores", "decimal", "criteria"), NAME),
    "asv_threshold": ("no such name", NAN),
}
OWN = {
    ("c_primary", "known"): COLUMN,
    ("bound_sources", "source"): ("scores.csv", -3, 2.5, NAN),  # a whole number of sources is taken too
    ("listed_trials", "labels"): (3, "target", ["target"]),
    ("write_report", "by"): (17,),  # the heading of a column, any text
    ("train_svm", "background"): NUMBERS,  # an array is taken too
    ("pool_sessions", "plda"): (),  # looked at only if the sessions have covariances of their own
}
"""What single parameters must not take, where their name and type do not tell."""
FROM_FILES = ("read_", "scan_", "load_", "audio_", "kaldi_")
"""Functions that open files first; the tests of io, engine and recognize try their options on files."""


CRITERIA = {"criterion": [{"characteristic": "accuracy", "metric": "cllr", "at_most": 1.0}]}


@functools.cache
def trials(systems=1):
    """Trials with speakers, a condition and a duration, enough for every fit."""
    rng, n = np.random.default_rng(5), 240
    label = np.arange(n) % 3 == 0
    scores = {f"score{i}": np.where(label, 1.5, -1.5) + rng.normal(0, 1.6, n) for i in range(systems)}
    columns = {
        "label": label, "enroll": [f"e{i % 8}" for i in range(n)], "test": [f"t{i % 40}" for i in range(n)],
        "room": [f"r{i % 2}" for i in range(n)], "seconds": rng.uniform(3, 60, n), "failed": [""] * n,
        "known": np.arange(n) % 2 == 0,
    }  # fmt: skip
    return lk.Trials(scores | columns, score=list(scores))


@functools.cache
def embeddings():
    rng = np.random.default_rng(6)
    speakers = np.repeat([f"s{i}" for i in range(12)], 4)
    vectors = rng.normal(size=(48, 4)) + np.repeat(rng.normal(0, 2, (12, 4)), 4, axis=0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return lk.speech.Embeddings(vectors, [f"u{i}" for i in range(48)], speakers)


@functools.cache
def spoofs():
    rng = np.random.default_rng(7)
    kinds = np.array(["target", "nontarget", "spoof"])[np.arange(180) % 3]
    return lk.spoof.SpoofTrials({"asv": rng.normal(size=180), "cm": rng.normal(size=180), "label": kinds})


@functools.cache
def good_values():
    """An argument that can be used, by the type and by the name of a parameter."""
    several, pair = drawn.some_classes(), lk.theory.GaussianLLR(2.0)
    fitted, evaluated = lk.calibrate(trials(), method="cmlg", bound="none").map, drawn.some_evaluation()
    rng = np.random.default_rng(3)
    frames = [rng.normal(size=(50, 3)) for _ in range(4)]
    gmm = lk.speech.train_ubm(frames, 2, iterations=1)
    statistics = lk.speech.baum_welch(frames, gmm)
    models = lk.speech.adapt_means(statistics, gmm)
    plda = lk.speech.train_plda(embeddings(), iterations=0)[0]
    matrix = np.zeros((48, 48))
    by_type = {
        "ScoreSource": trials(), "AnyTrials": trials(), "Trials": trials(),
        "ClassSource": several, "SpoofTrials": spoofs(),
        "Embeddings": embeddings(), "E": embeddings(),
        "Map": fitted, "Map | AnyTrials": fitted, "CalibratedPair": pair,
        "Measurements": evaluated, "ClassEvaluation": lk.multiclass.evaluate(several), "PLDA": plda,
        "DiagonalGMM": gmm, "Statistics": statistics, "SpeakerGMMs": models, "Trainable": embeddings(),
        "Embeddings | npt.ArrayLike": embeddings(), "Frames | Embeddings": embeddings(),
        "Unlabeled": embeddings(), "Population": lk.simulate.Population(4, 1.0, 0.5, 0.5),
        "ScorePair | DurationPairs": pair, "CalibratedPair | CalibratedCells": pair, "Array": matrix,
        "Array | Blocks": matrix, "FloatArray": np.eye(3), "Ids": ["u0", "u1"],
        "Sequence[npt.ArrayLike]": frames, "Backend": lk.speech.train_backend(embeddings()),
        "Callable[..., Map]": lk.fit_cmlg, "Frames": lk.speech.Frames.of(frames),
    }  # fmt: skip
    by_name = {
        "point": 0.5, "evaluation": "sre08", "speakers": "enroll", "p_known": 0.5, "prior": 0.5, "llr": 1.0,
        "low": -1.0, "high": 1.0, "h1": "a", "h2": "b", "column": "room", "by": "room",
        "columns": ["seconds"], "order": 1.0, "n_target": 100, "n_nontarget": 100, "criteria": CRITERIA,
        "name": "sre08", "results": evaluated, "unlabeled": trials(), "n_classes": 3, "target": "en",
        "other": "de", "classes": ["en", "de"], "steps": ("center", "length"), "systems": [pair],
        "mean_target": 1.0, "mean_nontarget": -1.0, "var_target": 1.0, "var_nontarget": 1.0,
        "path": "nowhere.csv", "paths": "nowhere.csv", "given": "asvspoof5",
    }  # fmt: skip
    by_function = {
        "llrkit.fit_best": {"methods": "cmlg,logistic", "folds": 2, "repeats": 1},
        "llrkit.compare": {"methods": "cmlg"},
        "llrkit.c_primary": {"known": "known", "p_known": 0.5},
        "llrkit.compare_systems": {"source": trials(2)},
        "llrkit.trust.compare_many_systems": {"source": trials(2)},
        "llrkit.trust.delong_test": {"source": trials(2)},
        "llrkit.fit_fusion": {"source": trials(2)},
        "llrkit.metrics.compound_trials": {"enroll": "enroll", "test": "test"},
        "llrkit.biometrics.identification": {"probe": "test"},
        "llrkit.biometrics.differential": {"by": "room"},
        "llrkit.multiclass.class_calibration": {"evaluation": by_type["ClassEvaluation"]},
        "llrkit.speech.train_svm": {"background": np.ones((3, 4))},
        "llrkit.speech.train_ubm": {"n_gaussians": 2},
        "llrkit.check_shift": {"scores": trials()},
        "llrkit.case_report": {"scores": [1.0], "h1": "he", "h2": "another"},
        "llrkit.validate": {"criteria": CRITERIA},
        "llrkit.metrics.compound_llr": {"llr": np.ones((3, 3))},
        "llrkit.theory.tilt": {"density": lambda x: -(x**2)},
        "llrkit.speech.train_ivectors": {"n_factors": 2},
        "llrkit.speech.train_extractor": {"n_gaussians": 2, "n_factors": 2},
    }
    return by_type, by_name, by_function


def functions():
    """Every public function by its path; what two rooms list is taken once."""
    seen = set()
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.ismodule(thing) or not callable(thing) or thing in seen:
                continue
            if not name.startswith(FROM_FILES):
                seen.add(thing)
                yield f"{room}.{name}", thing


def parameters_of(function):
    """The parameters of a function by name; options that it takes as keywords are as their class has them."""
    own = inspect.signature(function).parameters
    found = {name: one for name, one in own.items() if one.kind is not one.VAR_KEYWORD}
    job = str(own["options"].annotation).removesuffix(" | None") if "options" in own else ""
    for item in fields(getattr(options, job)) if hasattr(options, job) else ():
        found.setdefault(item.name, inspect.Parameter(
            item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default, annotation=item.type
        ))  # fmt: skip
    return found


def type_of(parameter):
    return str(parameter.annotation).removesuffix(" | None")


def wrong_values(path, parameter):
    """Values that a parameter must not take, as far as its name and its type tell."""
    kind = type_of(parameter)
    own = OWN.get((path.rpartition(".")[2], parameter.name))
    if own is not None:
        return own
    if kind in DATA:
        return (3, "scores.csv")
    if kind == "bool":
        return BY_TYPE["bool"]
    if parameter.name in BY_NAME and kind != "Any":
        return BY_NAME[parameter.name]
    return BY_TYPE.get(kind, ())


def good_arguments(path, function):
    """Arguments for what a function cannot do without."""
    by_type, by_name, by_function = good_values()
    own = by_function.get(path, {})
    found = {}
    numbers = np.random.default_rng(4).uniform(0.2, 0.8, (4, 4))
    for name, parameter in inspect.signature(function).parameters.items():
        required = parameter.default is parameter.empty
        if required and (parameter.kind is parameter.POSITIONAL_OR_KEYWORD or type_of(parameter) in by_type):
            found[name] = own.get(name, by_type.get(type_of(parameter), by_name.get(name, numbers)))
        elif required and parameter.kind is parameter.KEYWORD_ONLY:
            found[name] = by_name[name]
    return found | own
