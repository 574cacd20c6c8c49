"""Schemas of what commands write that judge: diagnose, shift, validate, case."""

from __future__ import annotations

from llrkit.cli.schemas.notation import (
    COUNT,
    INTERVAL,
    NUMBER,
    SCORES,
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

_MOMENTS = {f"{name}_{side}": NUMBER for name in ("skewness", "kurtosis") for side in ("target", "nontarget")}
DIAGNOSE = record(
    "What scores look like and which calibrators suit them.",
    {
        "n_target": COUNT,
        "n_nontarget": COUNT,
        "eer": SHARE,
        "cllr": NUMBER,
        "min_cllr": NUMBER,
        "cllr_from_eer": NUMBER,
        "det_slope": NUMBER,
        **_MOMENTS,
        "sd_ratio": NUMBER,
        "gaussian_tests": listed(
            record(
                "A test of equal-variance Gaussian scores.",
                {
                    "name": TEXT,
                    "deviation": NUMBER,
                    "statistic": NUMBER,
                    "p_value": SHARE,
                    "of_size": NUMBER,
                    "power": SHARE,
                },
            )
        ),
        "costs": maybe(
            record(
                "Predicted costs of two calibrators.",
                {
                    "cllr_cmlg": NUMBER,
                    "cllr_logistic": NUMBER,
                    "point": maybe(TEXT),
                    "dcf_cmlg": NUMBER,
                    "dcf_logistic": NUMBER,
                },
            )
        ),
        "problems": TEXTS,
        "notes": TEXTS,
        "advice": listed(record("", {"method": TEXT, "advised": YES_OR_NO, "why": TEXT})),
    },
)
_MOVED = record(
    "How a class has moved, in units of its training spread.", {"offset": NUMBER, "spread": NUMBER}
)
SHIFT = record(
    "Whether scores are those of training.",
    {
        "n": COUNT,
        "n_infinite": COUNT,
        "p_value": SHARE,
        "share": SHARE,
        "share_interval": maybe(INTERVAL),
        "target": maybe(_MOVED),
        "nontarget": maybe(_MOVED),
        "harm": NUMBER,
        "harm_interval": maybe(INTERVAL),
        "rung": TEXT,
        "distances": listed(NUMBER),
        "refusal": TEXT,
        "no_harm": TEXT,
        "by_groups": YES_OR_NO,
        "trained_by_groups": YES_OR_NO,
        "is_shifted": YES_OR_NO,
        "is_harmful": YES_OR_NO,
        "text": TEXT,
    },
)
_SOURCES = record(
    "Speakers or recordings.", {"columns": TEXTS, "n": COUNT, "n_target": COUNT, "n_nontarget": COUNT}
)
_SIDE = record(
    "LLRs of one class.",
    {
        **dict.fromkeys(("mean", "mean_error", "variance", "ratio", "ratio_error"), NUMBER),
        "right_sign": YES_OR_NO,
    },
)
_TRIAL: Schema = {
    "type": "object",
    "additionalProperties": variants(TEXT, NUMBER),
    "description": "Its row and ids.",
}
CALIBRATION_CHECK = record(
    "Tests of calibration.",
    {
        "verdict": ref("verdict"),
        "cllr": NUMBER,
        "min_cllr": NUMBER,
        "cllr_cal": NUMBER,
        "dev_pav": NUMBER,
        "cv_loss": NUMBER,
        "p_values": mapping(NUMBER),
        "recalibration": ref("recalibration"),
        "null": maybe(mapping(mapping(NUMBER))),
        "expectations": listed(
            record("", {"name": TEXT, "mean": NUMBER, "standard_error": NUMBER, "usable": YES_OR_NO})
        ),
        "exceedances": listed(
            record(
                "",
                {
                    "kind": TEXT,
                    **dict.fromkeys(("threshold", "predicted", "counted", "standard_error", "z"), NUMBER),
                },
            )
        ),
        "target": _SIDE,
        "nontarget": _SIDE,
        "notes": TEXTS,
    },
)
VALIDATE = record(
    "A validation against criteria.",
    {
        "scores": SCORES,
        "criteria": TEXT,
        "passed": maybe(YES_OR_NO),
        "outcome": TEXT,
        "matrix": listed(
            record(
                "One criterion.",
                {
                    "characteristic": TEXT,
                    "metric": TEXT,
                    "graph": TEXT,
                    "criterion": TEXT,
                    "data": TEXT,
                    "result": variants(NUMBER, TEXT),
                    "interval": maybe(INTERVAL),
                    "passed": maybe(YES_OR_NO),
                    "decision": TEXT,
                    "note": TEXT,
                },
            )
        ),
        "report": mapping(TEXT),
        "cautions": TEXTS,
        "setting": record(
            "What was validated.",
            {
                "n_target": COUNT,
                "n_nontarget": COUNT,
                "sources": maybe(_SOURCES),
                "recordings": maybe(_SOURCES),
                "lowest": NUMBER,
                "highest": NUMBER,
                "supported": INTERVAL,
                "n_beyond": about(COUNT, "LLRs outside the range that is supported."),
                "beyond_by": about(NUMBER, "How far the strongest of them lies outside, in nats."),
                "calibration": maybe(TEXT),
                "bounds": maybe(record("", {"low": NUMBER, "high": NUMBER})),
            },
        ),
        "evaluation": ref("evaluation"),
        "calibration": CALIBRATION_CHECK,
        "misleading": listed(
            record(
                "A trial whose LLR misleads most.",
                {"is_target": YES_OR_NO, "llr": NUMBER, "trial": _TRIAL, "place": TEXT, "words": TEXT},
            )
        ),
    },
)
_TAILS = maybe(
    record(
        "How often trials are as extreme.",
        dict.fromkeys(
            ("same_source_as_low", "n_same_source", "different_source_as_high", "n_different_source"), COUNT
        ),
    )
)
_COMPARISON: dict[str, Schema] = {
    "name": TEXT,
    "score": variants(NUMBER, listed(NUMBER)),
    "llr": NUMBER,
    "log10_lr": NUMBER,
    "lr": NUMBER,
    "interval": maybe(record("", {"low": NUMBER, "high": NUMBER, "level": SHARE, "how": TEXT})),
    "at_bound": TEXT,
    "outside_training_range": TEXT,
    "statement": TEXT,
    "words": maybe(TEXT, "The verbal equivalent, if it was asked for."),
    "training": _TAILS,
    "validation": _TAILS,
    "misleading": maybe(
        record("", {"count": COUNT, "n": COUNT, "rate": SHARE, "upper": SHARE, "level": SHARE})
    ),
}
CASE = record(
    "Comparisons of a case; the first also at the top.",
    {
        "map": TEXT,
        **_COMPARISON,
        "headline": about(TEXT, "That the validation failed or decides nothing; empty otherwise."),
        "validation_outcome": one_of("passed", "failed", "not decided", None),
        "validation_verdict": maybe(ref("verdict")),
        "bounds": maybe(record("", {"low": NUMBER, "high": NUMBER})),
        "h1": TEXT,
        "h2": TEXT,
        "no_interval": TEXT,
        "conditions": TEXT,
        "cautions": TEXTS,
        "calibration": maybe(ref("calibration_of_case")),
    },
    {"comparisons": listed(record("", _COMPARISON))},
)
