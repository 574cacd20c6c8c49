"""``llrkit demo``: a first look, on trials that it makes itself."""

from __future__ import annotations

from pathlib import Path

import click

from llrkit.cli.output import write_json


@click.command("demo")
@click.option("--out", default="out/demo", show_default=True, metavar="DIR", help="Where the report goes.")
@click.option("--seed", default=2013, show_default=True, help="Seed of the simulated trials.")
def demo_command(out: str, seed: int) -> None:
    """Evaluate simulated trials: calibrated Gaussian LLRs, and the same with a wrong scale and offset.

    \b
    Example:
      llrkit demo --out out/demo
    """
    import numpy as np

    from llrkit.cli.evaluate import print_evaluation
    from llrkit.metrics.measure import evaluate
    from llrkit.scores import Scores
    from llrkit.theory import GaussianLLR

    rng = np.random.default_rng(seed)
    model = GaussianLLR.from_eer(0.05)
    target, nontarget = model.target.rvs(20_000, rng), model.nontarget.rvs(400_000, rng)
    click.echo(
        "420,000 simulated trials of a calibrated Gaussian system with EER 5 %: "
        f"theory says Cllr = {model.cllr:.4f}\n"
    )
    report = {}
    for title, scale, offset in (
        ("calibrated", 1.0, 0.0),
        ("scores twice too large, shifted by 2", 2.0, 2.0),
    ):
        result = evaluate(Scores(scale * target + offset, scale * nontarget + offset))
        print_evaluation(result, title=f"== {title}", by=None, to_stderr=False)
        click.echo("")
        report[title] = result.to_dict()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "evaluation.json"
    write_json({"systems": report}, "demo", str(path))
    click.echo(f"The report is in {path}")
