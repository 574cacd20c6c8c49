"""``llrkit theory``: what a calibrated Gaussian system looks like, from one number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.output import (
    json_option,
    parse_points,
    parse_share,
    point_option,
    print_table,
    unconfirmed_option,
    write_json,
)

if TYPE_CHECKING:
    from llrkit.theory import GaussianLLR

_GIVEN = ("eer", "d_prime", "mu", "sigma", "cllr")


@click.command("theory")
@click.option("--eer", multiple=True, metavar="E", help="Equal error rate, 0.05 or 5%.")
@click.option(
    "--d-prime", multiple=True, metavar="D", help="Separation of the classes in standard deviations."
)
@click.option("--mu", multiple=True, metavar="M", help="Mean LLR of the targets, in nats.")
@click.option("--sigma", multiple=True, metavar="S", help="Standard deviation of the LLRs, in nats.")
@click.option("--cllr", multiple=True, metavar="C", help="Cllr in bits.")
@point_option
@unconfirmed_option
@json_option
def theory_command(
    points: tuple[str, ...], allow_unconfirmed: bool, json_path: str | None, **given: tuple[str, ...]
) -> None:
    """Describe calibrated Gaussian LLRs, from one number.

    If calibrated LLRs are Gaussian, both classes have the same variance and opposite means, with
    sigma^2 = 2 mu (van Leeuwen & Brümmer 2013). Give one number, or several to see them side by side.

    \b
    Examples:
      llrkit theory --eer 5%
      llrkit theory --eer 1% --eer 5% --eer 10% --point sre12
      llrkit theory --cllr 0.3 --json -
    """
    from llrkit.errors import InputError
    from llrkit.theory import GaussianLLR

    models = [
        getattr(GaussianLLR, f"from_{name}")(parse_share(text, f"--{name.replace('_', '-')}"))
        for name in _GIVEN
        for text in given[name]
    ]
    if not models:
        raise InputError("give at least one of --eer, --d-prime, --mu, --sigma, --cllr")
    asked = parse_points(points) or ["sre08", "sre10", "sre12", "sre16", "sre21"]
    rows = [_describe(model, asked, allow_unconfirmed) for model in models]
    _print(rows, to_stderr=json_path == "-")
    write_json(rows[0] if len(rows) == 1 else {**rows[0], "rows": rows}, "theory", json_path)


def _describe(model: GaussianLLR, asked: list[Any], allow_unconfirmed: bool) -> dict[str, Any]:
    from llrkit.theory.operating_points import OperatingPoint
    from llrkit.theory.presets import preset

    points: list[dict[str, Any]] = []
    primaries: list[dict[str, Any]] = []
    for item in asked:
        averaged = (
            None if isinstance(item, OperatingPoint) else preset(item, allow_unconfirmed=allow_unconfirmed)
        )
        for point in (item,) if averaged is None else averaged.points:
            cost = model.min_dcf(point)
            points.append(
                {
                    "name": point.name,
                    "p_target": point.p_target,
                    "c_miss": point.c_miss,
                    "c_fa": point.c_fa,
                    "min_dcf": cost,
                    "act_dcf": cost,
                }
            )
        if averaged is not None and averaged.averages:
            mean = sum(point["min_dcf"] for point in points[-len(averaged.points) :]) / len(averaged.points)
            primaries.append({"name": averaged.name, "min": mean, "act": mean})
    plain = {name: float(getattr(model, name)) for name in ("eer", "d_prime", "mu", "sigma", "auc", "cllr")}
    return {**plain, "points": points, "primaries": primaries}


def _print(models: list[dict[str, Any]], *, to_stderr: bool) -> None:
    from llrkit._format import number, percent

    rows = [
        ("EER", *(percent(model["eer"]) for model in models)),
        ("mu (mean target LLR)", *(number(model["mu"]) for model in models)),
        ("sigma = d'", *(number(model["sigma"]) for model in models)),
        ("AUC", *(number(model["auc"], 5) for model in models)),
        ("Cllr (bits)", *(number(model["cllr"]) for model in models)),
    ]
    for key, label, value in (("points", "DCF", "min_dcf"), ("primaries", "C_primary", "min")):
        for i, first in enumerate(models[0][key]):
            rows.append((f"{label} {first['name']}", *(number(model[key][i][value]) for model in models)))
    print_table([""] * (len(models) + 1), rows, to_stderr=to_stderr, title="Calibrated Gaussian LLRs")
