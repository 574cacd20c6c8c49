"""What several schemas have in common; each is named once."""

from __future__ import annotations

from llrkit.cli.schemas.notation import (
    ANY_OBJECT,
    COUNT,
    INTERVAL,
    NUMBER,
    NUMBERS,
    SHARE,
    TEXT,
    TEXTS,
    YES_OR_NO,
    Schema,
    about,
    listed,
    mapping,
    maybe,
    one_of,
    record,
    ref,
    variants,
)

INTERVALS: dict[str, Schema] = {
    "intervals": mapping(INTERVAL, "Confidence intervals by the name of the number."),
    "no_interval": mapping(TEXT, "Why a number has no interval."),
    "design_effect": mapping(NUMBER, "Variance divided by that of independent trials."),
    "upper_bound": mapping(NUMBER, "One-sided upper bounds of what has no interval."),
    "bias_corrected": mapping(NUMBER, "Bias-corrected estimates."),
}
_POINT: dict[str, Schema] = {
    "name": TEXT,
    "p_target": about(SHARE, "Prior probability of a target."),
    "c_miss": NUMBER,
    "c_fa": NUMBER,
}
_LOSSES: dict[str, Schema] = {"cllr": NUMBER, "min_cllr": NUMBER, "cllr_cal": NUMBER}
_MAP: dict[str, Schema] = {
    "kind": about(TEXT, "The class of maps: affine, pav, bounded, composed, ..."),
    "method": TEXT,
    "options": about(ANY_OBJECT, "The options of the fit."),
    "parameters": about(ANY_OBJECT, "What the map needs to compute LLRs; depends on its kind."),
    "details": about(ANY_OBJECT, "Details of the fit; depend on the method."),
    "provenance": ref("provenance"),
}
_MAP_MORE: dict[str, Schema] = {
    "reading": maybe(ref("reading"), "How the training scores were read; missing in old files."),
    "densities": ref("densities"),
}
COST_ROW = record(
    "A cost at its best threshold and at that of LLRs.",
    {"name": TEXT, "min": NUMBER, "act": NUMBER},
    INTERVALS,
)

DEFINITIONS: dict[str, Schema] = {
    "number": {
        "description": 'A number. Infinities are "inf" and "-inf"; null where it is not defined.',
        "anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", None]}],
    },
    "share": {
        "description": "A share or probability.",
        "type": ["number", "null"],
        "minimum": 0,
        "maximum": 1,
    },
    "count": {
        "description": "How many; not whole where trials have weights.",
        "type": "number",
        "minimum": 0,
    },
    "interval": listed(NUMBER, "Low and high end.", minItems=2, maxItems=2),
    "conventions": mapping(TEXT, "The convention behind each number."),
    "point": record("An operating point.", _POINT),
    "costs_at_point": record(
        "Detection costs at an operating point, divided by min(P Cmiss, (1 - P) Cfa).",
        {**_POINT, "min_dcf": NUMBER, "act_dcf": NUMBER},
        {"threshold": about(NUMBER, "The Bayes threshold."), "p_miss": SHARE, "p_fa": SHARE, **INTERVALS},
    ),
    "ci": record(
        "How intervals were made.",
        {"kind": one_of("none", "trial", "speaker", "bootstrap"), "level": SHARE},
        {"n_speakers": maybe(COUNT), "notes": TEXTS},
    ),
    "verdict": record(
        "Whether the scores can be read as LLRs.",
        {"outcome": TEXT, "p_value": SHARE, "level": SHARE, "kind": TEXT, "text": TEXT},
    ),
    "evaluation": record(
        "All metrics of one set of trials.",
        {
            "n_target": COUNT,
            "n_nontarget": COUNT,
            "eer": about(SHARE, "On the ROC convex hull."),
            "eer_roc": about(SHARE, "On the interpolated ROC."),
            "auc": SHARE,
            "cllr": about(NUMBER, "Cost of the log-likelihood-ratio, in bits."),
            "min_cllr": about(NUMBER, "Cllr after PAV on the same trials."),
            "cllr_cal": about(NUMBER, "Cllr minus its minimum: the calibration loss."),
            "prbep": about(NUMBER, "Precision-recall break-even point: as many misses as false alarms."),
            "det_slope": NUMBER,
            "points": listed(ref("costs_at_point")),
            "conventions": ref("conventions"),
            "verdict": ref("verdict"),
            "sentence": TEXT,
        },
        {
            **INTERVALS,
            "ci": ref("ci"),
            "primary": COST_ROW,
            "primaries": listed(COST_ROW),
            "fixed_threshold": record(
                "Errors at a threshold that was chosen on other trials.",
                {"threshold": NUMBER, "p_miss": SHARE, "p_fa": SHARE, "hter": SHARE},
                INTERVALS,
            ),
            "equalized": record(
                "Conditions that count alike.", {"columns": TEXTS, "weights": mapping(NUMBERS)}
            ),
            "loss_split": record(
                "Cllr in parts.",
                {"discrimination": NUMBER, "scale_and_offset": NUMBER, "shape": NUMBER, "chance": NUMBER},
            ),
            "groups": mapping(ref("evaluation"), "The same for each value of the column that was asked for."),
            "skipped_groups": mapping(TEXT, "Why a value has no evaluation."),
            "over_groups": record(
                "Means over groups, and the worst group.",
                {"mean": mapping(NUMBER), "worst": mapping(record("", {"group": TEXT, "value": NUMBER}))},
            ),
            "shared": record(
                "Trials that all groups share.", {"class": TEXT, "markers": TEXTS, "automatic": YES_OR_NO}
            ),
        },
    ),
    "reading": record(
        "How scores were read.",
        {"score": TEXTS, "log10": YES_OR_NO, "distance": YES_OR_NO, "positive": maybe(TEXT)},
        {"calibrated": YES_OR_NO},
    ),
    "provenance": record(
        "The training trials of a map: numbers, moments and range, for several systems a list of each.",
        {"llrkit": about(TEXT, "The version that made the map.")},
        {
            **{
                f"{moment}_{side}": variants(NUMBER, NUMBERS)
                for moment in ("mean", "std", "skewness", "kurtosis")
                for side in ("target", "nontarget")
            },
            **dict.fromkeys(("low", "high"), variants(NUMBER, NUMBERS)),
            "n_target": COUNT,
            "n_nontarget": COUNT,
            "n": mapping(COUNT, "By class."),
            "training_file": TEXT,
            "training_files": TEXTS,
            "training_sha256": variants(TEXT, TEXTS),
            "training_cllr_before": NUMBER,
            "training_cllr": NUMBER,
            "training_min_cllr": NUMBER,
            "training_eer": SHARE,
            "training_left_out": about(COUNT, "Trials that were left out, as options asked."),
            "adapted_from": TEXT,
        },
    ),
    "densities": {
        **record("Histograms of the training scores, by which a shift is noticed.", {"of": TEXT}),
        "additionalProperties": True,
    },
    "map": record(
        "A map from scores to LLRs.",
        {"format": one_of("llrkit.map/2", "llrkit.map/1"), **_MAP},
        _MAP_MORE,
    ),
    "recalibration": record(
        "The straight line that would calibrate the LLRs.",
        dict.fromkeys(
            (
                "a",
                "b",
                "se_a",
                "se_b",
                "factor",
                "bias",
                "se_bias",
                "statistic",
                "p_value",
                "p_factor",
                "p_bias",
            ),
            NUMBER,
        ),
    ),
    "calibration_of_case": {
        **record("The training of the map that was used.", {"llrkit": TEXT, "method": TEXT}),
        "additionalProperties": True,
    },
}
LEFT_OUT = listed(
    record("Some trials, and why they were left out.", {"trials": COUNT, "text": TEXT}),
    "Trials that were left out, as --missing, --missing-scores or --duplicates asked.",
)
CLASS_EVALUATION = record(
    "All metrics of log-likelihoods of several classes.",
    {
        "classes": TEXTS,
        "n": COUNT,
        "prior": mapping(SHARE),
        "cllr": NUMBER,
        "cllr_normalized": NUMBER,
        "refined_cllr": NUMBER,
        "refinement": TEXT,
        "error_rate": SHARE,
        "refined_error_rate": SHARE,
        "costs": listed(ANY_OBJECT),
        "cavg": NUMBER,
        "cavgs": listed(record("", {"name": TEXT, "act": NUMBER, "refined": NUMBER})),
        "confusion": listed(NUMBERS, "Decisions by true class, in the order of classes."),
        "per_class": listed(
            record(
                "One class.",
                {
                    "class": TEXT,
                    "n": COUNT,
                    "prior": SHARE,
                    "cllr": NUMBER,
                    "refined_cllr": NUMBER,
                    "error_rate": SHARE,
                    "refined_error_rate": SHARE,
                    "detection": record("Against all others.", {"eer": SHARE, "auc": SHARE, **_LOSSES}),
                },
            )
        ),
        "conventions": ref("conventions"),
    },
)
CLASS_MAP = record(
    "A map of log-likelihoods of several classes.",
    {"format": one_of("llrkit.class_map/1"), **_MAP},
    _MAP_MORE,
)
