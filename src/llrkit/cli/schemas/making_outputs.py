"""Schemas of what commands write that make something: maps, models, simulated data, experiments."""

from __future__ import annotations

from llrkit.cli.schemas.notation import (
    COUNT,
    NUMBER,
    NUMBERS,
    SHARE,
    TEXT,
    TEXTS,
    Schema,
    const,
    listed,
    mapping,
    maybe,
    record,
    ref,
    variants,
)
from llrkit.cli.schemas.shared import CLASS_MAP, DEFINITIONS

MAP: Schema = {**DEFINITIONS["map"], "description": "The map that was fitted, as it is saved."}
CALIBRATE = variants(MAP, CLASS_MAP)
FUSE = variants(
    MAP,
    CLASS_MAP,
    record(
        "A fusion of speaker verification and a countermeasure (--sasv).",
        {
            "costs": TEXT,
            "rows": listed(
                record(
                    "",
                    {"method": TEXT, "min": NUMBER, "act": maybe(NUMBER)},
                    {"train_min": NUMBER, "train_act": maybe(NUMBER)},
                )
            ),
            "best": TEXT,
            "failed": mapping(TEXT),
            "chosen": TEXT,
            "fusion": ref("map"),
        },
    ),
)
_SPEECH = {"speech_seconds": mapping(NUMBER, "Of each recording, where they are known.")}
RECOGNIZE_TRAIN = record(
    "A recognizer was trained.",
    {"backend": TEXT, "n_utterances": COUNT, "n_speakers": maybe(COUNT), "log_likelihoods": mapping(NUMBERS)},
    {**_SPEECH, "n_gaussians": COUNT, "n_factors": COUNT},
)
RECOGNIZE_ENROLL = record("Models were enrolled.", {"n_models": COUNT, "n_utterances": COUNT}, _SPEECH)
RECOGNIZE_COHORT = record("A cohort was made.", {"n_utterances": COUNT}, _SPEECH)
RECOGNIZE_EXTRACT = record("Embeddings were extracted.", {"n_utterances": COUNT, "dim": COUNT}, _SPEECH)
RECOGNIZE_SCORE = record(
    "Trials were scored.",
    {"n_models": COUNT, "n_utterances": COUNT, "n_trials": COUNT},
    {**_SPEECH, "n_target": COUNT, "n_nontarget": COUNT, "eer": SHARE, "min_cllr": NUMBER},
)
_PARAMETERS = mapping(
    variants(NUMBER, NUMBERS, TEXT), "The parameters of the simulation; depend on its kind."
)
SIMULATE = record(
    "Simulated data.",
    {"kind": TEXT, "seed": COUNT, "parameters": _PARAMETERS, "output": TEXT},
    {
        "n_target": COUNT,
        "n_nontarget": COUNT,
        "rows": COUNT,
        "recordings": COUNT,
        "population": mapping(NUMBER, "The numbers of infinitely many such trials."),
    },
)
_LIST = record(
    "One list of trials.",
    {
        "enroll": TEXT,
        "test": TEXT,
        "n_target": COUNT,
        "n_nontarget": COUNT,
        **dict.fromkeys(
            ("eer", "raw_cllr", "cmlg", "logistic", "min_cllr", "cllr_from_eer", "det_slope"), NUMBER
        ),
    },
    {
        "sd": mapping(NUMBER, "Standard deviations over seeds."),
        "sd_ratio": NUMBER,
        **{f"{name}_{side}": NUMBER for name in ("skewness", "kurtosis") for side in ("target", "nontarget")},
    },
)
_LISTS: dict[str, Schema] = {
    "lists": listed(_LIST),
    "mean": mapping(NUMBER),
    "std": mapping(NUMBER),
    "correlation": NUMBER,
    "rms_cllr_from_eer": NUMBER,
    "pooled": mapping(NUMBERS),
    "paper": mapping(NUMBER, "What the paper states."),
    "seconds": NUMBER,
    "trials": COUNT,
}
_DURATIONS: dict[str, Schema] = {
    **_LISTS,
    "eer_min": SHARE,
    "eer_max": SHARE,
    "sd": mapping(NUMBER),
    "one_map": mapping(record("One map for all lists.", {"mean": NUMBER, "sd": NUMBER, "lists": NUMBERS})),
    "seeds": NUMBERS,
    "scale": TEXT,
    "seed": COUNT,
    "from": TEXT,
}
_SIMULATED: dict[str, Schema] = {"scale": TEXT}  # scores of a file have none
_SCAN: dict[str, Schema] = {
    "cost": TEXT,
    "seconds": NUMBER,
    "seed": COUNT,
    "cases": listed(
        record(
            "",
            {
                "name": TEXT,
                "about": TEXT,
                "log_odds": NUMBERS,
                "cmlg": NUMBERS,
                "logistic": NUMBERS,
                "minimum": NUMBER,
            },
            {"refused": mapping(TEXT, "Why fits of a method have no cost at some of the log-odds.")},
        )
    ),
}
REPRODUCE = variants(
    record("The experiment over durations.", {"experiment": const("durations"), **_DURATIONS}),
    record("The scan of training priors.", {"experiment": const("prior-scan"), **_SCAN}, _SIMULATED),
    record(
        "The experiment on real trials.",
        {
            "experiment": const("real"),
            "file": TEXT,
            **_LISTS,
            "skipped": mapping(TEXT),
            "regularized": TEXTS,
        },
        {"by": TEXTS, "training": TEXT, "folds": COUNT, "scorer": TEXT, "speakers": mapping(COUNT)},
    ),
)
DEMO = record(
    "Both experiments, small.",
    {"durations": record("", _DURATIONS), "prior_scan": record("", _SCAN, _SIMULATED)},
)
