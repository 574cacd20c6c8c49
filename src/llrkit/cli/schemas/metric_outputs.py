"""Schemas of what commands write that measure: evaluate, spoof, identify, compare, threshold, theory."""

from __future__ import annotations

from llrkit.cli.schemas.judging_outputs import SHIFT
from llrkit.cli.schemas.notation import (
    ANY_OBJECT,
    COUNT,
    INTERVAL,
    NUMBER,
    NUMBERS,
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
    members,
    record,
    ref,
    variants,
)
from llrkit.cli.schemas.shared import CLASS_EVALUATION, COST_ROW, DEFINITIONS, INTERVALS

_EVALUATION = DEFINITIONS["evaluation"]
FNMR_AT_FMR = record(
    "The false non-match rate at a false match rate.",
    {
        "name": TEXT,
        "wanted": SHARE,
        "threshold": NUMBER,
        "threshold_interval": maybe(INTERVAL),
        "fmr": SHARE,
        "fnmr": SHARE,
        "tar": SHARE,
        "n_false_matches": COUNT,
        "n_false_nonmatches": COUNT,
        "fnmr_interval": maybe(INTERVAL),
        "no_interval": TEXT,
        "fnmr_bound": maybe(SHARE),
        "fmr_bound": maybe(SHARE),
    },
)
BIOMETRICS = record(
    "Rates of biometric verification (--fmr, --failures).",
    {
        "rates": listed(FNMR_AT_FMR),
        "n_mated": COUNT,
        "n_nonmated": COUNT,
        "eer_roc": SHARE,
        "zero_fnmr": SHARE,
        "n_subjects": maybe(COUNT),
        "level": SHARE,
        "notes": TEXTS,
    },
    {
        "failures": maybe(
            record(
                "Comparisons that failed; mated first.",
                {"column": TEXT, "counts": mapping(NUMBERS), "rates": NUMBERS, "n": NUMBERS},
            )
        )
    },
)
OF_SHIFT = variants(
    {**SHIFT, "description": "Whether the scores are those the calibration was trained on."},
    record("Why this is unknown.", {"text": TEXT}),
)
EVALUATE = variants(
    record(
        "Scores of two classes.",
        {"scores": SCORES, **{name: members(_EVALUATION)[name] for name in _EVALUATION.get("required", ())}},
        {
            **members(_EVALUATION),
            "known": listed(
                record(
                    "A cost that mixes known and unknown non-targets.",
                    {"name": TEXT, "p_known": SHARE, "min": NUMBER, "act": NUMBER},
                )
            ),
            "biometrics": BIOMETRICS,
            "shift": OF_SHIFT,
            "saturated": about(TEXTS, "Shares of trials that have exactly the highest or the lowest score."),
            "repeated_trials": maybe(
                COUNT, "How many trials occur more than once; null where it is not known."
            ),
        },
    ),
    record("Log-likelihoods of several classes.", {"scores": SCORES, **members(CLASS_EVALUATION)}),
)
REPORT = variants(
    record("Reports on scores of two classes.", {"systems": mapping(ref("evaluation"))}, {"shift": OF_SHIFT}),
    record("Reports on log-likelihoods of several classes.", {"scores": SCORES, **members(CLASS_EVALUATION)}),
)
_SPOOF_NUMBERS: dict[str, Schema] = {
    "n_target": COUNT,
    "n_nontarget": COUNT,
    "n_spoof": COUNT,
    "score": maybe(TEXT),
    **dict.fromkeys(("sv_eer", "spf_eer", "sasv_eer", "cm_eer"), maybe(SHARE)),
    "a_dcf": listed(COST_ROW),
    "t_dcf": listed(COST_ROW),
    "t_eer": maybe(SHARE),
    "attacks": mapping(ref("spoofing")),
}
_SPOOF_MORE: dict[str, Schema] = {
    **INTERVALS,
    "ci": ref("ci"),
    "asv": record(
        "Speaker verification alone.",
        {"threshold": NUMBER, "p_miss": SHARE, "p_fa": SHARE, "p_fa_spoof": maybe(SHARE)},
    ),
    "missing": mapping(TEXT, "Why a number is not there."),
    "worst_attack": mapping(record("", {"attack": TEXT, "value": NUMBER})),
    "conventions": ref("conventions"),
}
DEFINITIONS["spoofing"] = record("Targets, non-targets and spoofs.", _SPOOF_NUMBERS, _SPOOF_MORE)
SPOOF = record(
    "Spoofing-aware verification.",
    {"scores": SCORES, **_SPOOF_NUMBERS},
    {**_SPOOF_MORE, "attack_detection": ANY_OBJECT},
)
_GROUP = {
    f"{name}{rate}": kind
    for rate in ("fmr", "fnmr")
    for name, kind in (("", SHARE), ("n_", COUNT), ("errors_", COUNT), ("effective_", NUMBER))
} | {f"{rate}_interval": maybe(INTERVAL) for rate in ("fmr", "fnmr")}
_MEASURE = record(
    "A measure of difference.", {"value": NUMBER, "interval": maybe(INTERVAL), "by_chance": NUMBER}
)
DIFFERENTIAL = record(
    "Error rates of groups of people.",
    {
        "scores": SCORES,
        "by": TEXTS,
        "threshold": NUMBER,
        "groups": mapping(record("", _GROUP)),
        "measures": mapping(mapping(_MEASURE)),
        "joined": mapping(NUMBER),
        "p_values": mapping(mapping(NUMBER)),
        "level": SHARE,
        "by_subject": YES_OR_NO,
        "sentence": TEXT,
    },
)
IDENTIFY = record(
    "Searches of a gallery.",
    {
        "scores": SCORES,
        "n_mated": COUNT,
        "n_nonmated": COUNT,
        "ranks": listed(record("", {"rank": COUNT, "rate": SHARE, "interval": INTERVAL})),
        "cmc": listed(SHARE, "Cumulative match characteristic, from rank 1 on."),
        "open_set": listed(
            record(
                "Errors at the threshold for a false positive identification rate.",
                {
                    "wanted": SHARE,
                    "threshold": NUMBER,
                    "dir": SHARE,
                    "fpir": SHARE,
                    "fnir": SHARE,
                    "n_false_positives": COUNT,
                    "n_missed": COUNT,
                    "fpir_interval": INTERVAL,
                    "fnir_interval": INTERVAL,
                },
            )
        ),
        "rank": COUNT,
        "level": SHARE,
        "n_subjects": maybe(COUNT),
        "notes": TEXTS,
    },
)
_COMPARED = {"method": TEXT, "cllr": NUMBER}
COMPARE = variants(
    record(
        "Calibrators of scores of two classes, raw scores first.",
        {
            "rows": listed(
                record(
                    "",
                    {
                        **_COMPARED,
                        "min_cllr": NUMBER,
                        "cllr_cal": NUMBER,
                        "eer": SHARE,
                        "points": listed(ref("costs_at_point")),
                    },
                )
            ),
            "best": maybe(TEXT),
            "failed": mapping(TEXT),
        },
    ),
    record(
        "Calibrators of log-likelihoods of several classes.",
        {
            "rows": listed(
                record(
                    "",
                    {
                        **_COMPARED,
                        "cllr_normalized": NUMBER,
                        "refined_cllr": NUMBER,
                        "cllr_cal": NUMBER,
                        "error_rate": SHARE,
                        "cavgs": mapping(NUMBER),
                    },
                )
            ),
            "best": maybe(TEXT),
            "failed": mapping(TEXT),
        },
    ),
)
_DIFFERENCE = record(
    "First minus second.",
    dict.fromkeys(("first", "second", "difference", "low", "high", "standard_error", "p_value"), NUMBER),
)
COMPARE_SYSTEMS = record(
    "Systems on the same trials.",
    {
        "scores": TEXTS,
        "systems": TEXTS,
        "kind": TEXT,
        "level": SHARE,
        "n_speakers": maybe(COUNT),
        "notes": TEXTS,
        "correction": TEXT,
        "points": TEXTS,
        "pairs": listed(
            record(
                "Two systems.",
                {
                    "systems": TEXTS,
                    "differences": mapping(_DIFFERENCE),
                    "no_test": mapping(TEXT),
                    "corrected_p_values": mapping(SHARE),
                },
            )
        ),
        "sentence": TEXT,
    },
)
THRESHOLD = record(
    "Thresholds and the errors they make.",
    {
        "scores": SCORES,
        "on": maybe(TEXT, "The file on which errors were counted, if another."),
        "thresholds": listed(
            record(
                "One threshold.",
                {
                    "criterion": TEXT,
                    "threshold": NUMBER,
                    "rule": TEXT,
                    "p_miss": SHARE,
                    "p_fa": SHARE,
                    "n_target": COUNT,
                    "n_nontarget": COUNT,
                    "notes": TEXTS,
                },
                {
                    **INTERVALS,
                    "interval": maybe(INTERVAL),
                    "point": ref("point"),
                    "cost": NUMBER,
                    "lowest_cost": NUMBER,
                    "cost_per_trial": NUMBER,
                    "ci": maybe(ref("ci")),
                },
            )
        ),
    },
)
THEORY_ROW = {
    "eer": SHARE,
    "d_prime": NUMBER,
    "mu": NUMBER,
    "sigma": NUMBER,
    "auc": SHARE,
    "cllr": NUMBER,
    "points": listed(ref("costs_at_point")),
    "primaries": listed(COST_ROW),
}
THEORY = record(
    "Calibrated Gaussian LLRs.",
    THEORY_ROW,
    {"rows": listed(record("", THEORY_ROW), "All that were asked for, where there are several.")},
)
