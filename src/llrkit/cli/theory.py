"""``llrkit theory``: what a calibrated Gaussian system looks like, from one number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from llrkit.cli.options import asking, parse_points, parse_share
from llrkit.cli.output import json_option, print_table, write_json
from llrkit.cli.shared_options import point_option, unconfirmed_option
from llrkit.errors import InputError

if TYPE_CHECKING:
    from llrkit.theory import GaussianLLR
    from llrkit.theory.operating_points import OperatingPoint


@dataclass(frozen=True, kw_only=True)
class Given:
    """The numbers that fix a pair, as they were typed."""

    eer: tuple[str, ...]
    d_prime: tuple[str, ...]
    mu: tuple[str, ...]
    sigma: tuple[str, ...]
    cllr: tuple[str, ...]

    def pairs(self) -> list[GaussianLLR]:
        """The pair of each number."""
        from llrkit.theory import GaussianLLR

        ways = (
            ("--eer", self.eer, GaussianLLR.from_eer), ("--d-prime", self.d_prime, GaussianLLR.from_d_prime),
            ("--mu", self.mu, GaussianLLR.from_mu), ("--sigma", self.sigma, GaussianLLR.from_sigma),
            ("--cllr", self.cllr, GaussianLLR.from_cllr),
        )  # fmt: skip
        return [made(parse_share(text, flag)) for flag, texts, made in ways for text in texts]


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
@asking(Given)
def theory_command(
    given: Given, points: tuple[str, ...], allow_unconfirmed: bool, json_path: str | None
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
    models = given.pairs()
    if not models:
        raise InputError("give at least one of --eer, --d-prime, --mu, --sigma, --cllr")
    asked = parse_points(points) or ["sre08", "sre10", "sre12", "sre16", "sre21"]
    described = [_pair_described(model, asked, allow_unconfirmed) for model in models]
    _print_pair(described, to_stderr=json_path == "-")
    rows = [asdict(one) for one in described]
    write_json(rows[0] if len(rows) == 1 else {**rows[0], "rows": rows}, "theory", json_path)


@dataclass(frozen=True)
class PointCost:
    """The cost of a calibrated pair at an operating point; the minimum is the actual one."""

    name: str
    p_target: float
    c_miss: float
    c_fa: float
    min_dcf: float
    act_dcf: float

    @classmethod
    def of(cls, model: GaussianLLR, point: OperatingPoint) -> PointCost:
        """What a pair costs at a point."""
        cost = model.min_dcf(point)
        return cls(point.name, point.p_target, point.c_miss, point.c_fa, cost, cost)


@dataclass(frozen=True)
class MeanCost:
    """The mean over the points of a preset."""

    name: str
    min: float
    act: float


@dataclass(frozen=True)
class Described:
    """The numbers of one pair, as they are written."""

    eer: float
    d_prime: float
    mu: float
    sigma: float
    auc: float
    cllr: float
    points: list[PointCost]
    primaries: list[MeanCost]


def _pair_described(
    model: GaussianLLR, asked: Sequence[OperatingPoint | str], allow_unconfirmed: bool
) -> Described:
    from llrkit.theory.operating_points import OperatingPoint, preset

    points: list[PointCost] = []
    primaries: list[MeanCost] = []
    for item in asked:
        if isinstance(item, OperatingPoint):
            points.append(PointCost.of(model, item))
            continue
        named = preset(item, allow_unconfirmed=allow_unconfirmed)
        costs = [PointCost.of(model, point) for point in named.points]
        points += costs
        if named.averages:
            mean = sum(cost.min_dcf for cost in costs) / len(costs)
            primaries.append(MeanCost(named.name, mean, mean))
    return Described(
        float(model.eer), float(model.d_prime), float(model.mu), float(model.sigma), float(model.auc),
        float(model.cllr), points, primaries,
    )  # fmt: skip


def _print_pair(models: Sequence[Described], *, to_stderr: bool) -> None:
    from llrkit.base.text import number, percent

    first = models[0]
    rows = [
        ("EER", *(percent(model.eer) for model in models)),
        ("mu (mean target LLR)", *(number(model.mu) for model in models)),
        ("sigma = d'", *(number(model.sigma) for model in models)),
        ("AUC", *(number(model.auc, 5) for model in models)),
        ("Cllr (bits)", *(number(model.cllr) for model in models)),
    ]
    for i, point in enumerate(first.points):
        rows.append((f"DCF {point.name}", *(number(model.points[i].min_dcf) for model in models)))
    for i, primary in enumerate(first.primaries):
        rows.append((f"C_primary {primary.name}", *(number(model.primaries[i].min) for model in models)))
    print_table([""] * (len(models) + 1), rows, to_stderr=to_stderr, title="Calibrated Gaussian LLRs")
