"""simulate and theory: trials, embeddings and frames whose answers are known, and answers without trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from llrkit import simulate
from llrkit.base.files import write_atomically
from llrkit.base.process import stage
from llrkit.base.text import Json, counted, number, percent
from llrkit.errors import InputError
from llrkit.io.write import write_partitions, write_trials
from llrkit.jobs import options as of
from llrkit.jobs.job import Run
from llrkit.jobs.options import TheoryOptions
from llrkit.scores.trials import Trials
from llrkit.simulate import options as asks
from llrkit.simulate.speakers import ConcatenatedTrials, write_frames
from llrkit.simulate.trials import SYSTEMS, ScorePair
from llrkit.speech.embeddings import write_embeddings
from llrkit.theory import GammaLLR, GaussianLLR, MixtureLLR, UnequalGaussians
from llrkit.theory.calibrated_pairs import CalibratedPair
from llrkit.theory.operating_points import Preset, costs_of


def scores(run: Run) -> None:
    """Independent trials of a model."""
    asked, seed = run.job[asks.TrialList], run.job[of.SeedChoice].seed
    pair, population, about = _pair_of_model(run.job[asks.ScoreModel], asked.durations)
    n_target, n_nontarget = asked.counts
    trials = simulate.simulate_trials(
        pair, n_target=n_target, n_nontarget=n_nontarget, rng=seed, scale=asked.scale, offset=asked.offset,
        speakers=asked.speakers, durations=asked.durations, dtype="float32" if asked.float32 else "float64",
    )  # fmt: skip
    known: dict[str, float] = {}
    if population is not None:
        known["eer"] = population.eer
        if (trials.scale, trials.offset) == (1.0, 0.0):
            known["cllr"] = population.cllr
    about |= {"scale": trials.scale, "offset": trials.offset, "speakers": trials.people.n_speakers}
    _write_simulated(run, trials, run.job[asks.ScoreModel].model, about, known)


def _pair_of_model(
    asked: asks.ScoreModel, seconds: tuple[float, ...]
) -> tuple[ScorePair | simulate.DurationPairs | CalibratedPair, CalibratedPair | None, dict[str, Json]]:
    """What scores are drawn from, the LLRs of the whole population where it has some, and its parameters."""
    pair: CalibratedPair
    if asked.model == "gaussian":
        pair = gaussian = GaussianLLR.from_eer(asked.eer)
        return pair, pair, {"eer": gaussian.eer}
    if asked.model == "mixture":
        pair = mixture = MixtureLLR(asked.weights, asked.mu)
        return pair, pair, {"weights": [*mixture.weights], "mu": [*mixture.mu]}
    if asked.model == "gamma":
        pair = gamma = GammaLLR(asked.shape)
        return pair, pair, {"shape": gamma.shape}
    if asked.model == "unequal":
        names = ("mean_target", "sd_target", "mean_nontarget", "sd_nontarget")
        moments = {name: getattr(asked, name) for name in names}
        return UnequalGaussians(*moments.values()), None, moments
    ends = asked.eer_full, asked.eer_short
    model = simulate.DurationModel.between(*ends, short=min(seconds), full=max(seconds))
    pairs = simulate.DurationPairs(model)
    return pairs, pairs.mixture(seconds), {"eer_full": ends[0], "eer_short": ends[1], "noise": model.noise}


def plda(run: Run) -> None:
    """All pairs of recordings of simulated speakers, scored by PLDA."""
    space, asked, seed = run.job[asks.Space], run.job[asks.CrossedRecordings], run.job[of.SeedChoice].seed
    voices = _population(space)
    simulated = simulate.simulate_plda(
        voices, n_speakers=asked.speakers, n_models=asked.models, n_tests=asked.tests,
        durations=asked.durations, shift=space.shift, rougher=space.rougher, rng=seed,
    )  # fmt: skip
    known: dict[str, float] = {}
    # scores of other durations, or of embeddings that have moved, are not calibrated
    if len(simulated.sources) == 1 and space.shift == 0.0 and space.rougher == 1.0:
        pair = voices.pair(asked.durations[0], asked.durations[0])
        known = {"eer": pair.eer, "cllr": pair.cllr}
    about = {**asdict(asked), "durations": [*asked.durations], **_described(space, voices)}
    _write_simulated(run, simulated, "plda", about, known)


def embeddings(run: Run) -> None:
    """Embeddings of simulated speakers in splits."""
    space, asked, to = run.job[asks.Space], run.job[asks.SplitSpeakers], run.job[of.ArrayOutput]
    voices = _population(space)
    simulated = simulate.simulate_embeddings(
        voices, n_background=asked.background, n_speakers=asked.speakers, n_sessions=asked.sessions,
        shift=space.shift, rougher=space.rougher, rng=run.job[of.SeedChoice].seed,
    )  # fmt: skip
    write_embeddings(simulated, to.output)
    run.say(f"{simulated!r} written to {to.output}")
    run.content = {
        "kind": "embeddings", "seed": run.job[of.SeedChoice].seed, "rows": len(simulated),
        "parameters": {**asdict(asked), **_described(space, voices)}, "output": to.output,
    }  # fmt: skip


def frames(run: Run) -> None:
    """Frames of simulated recordings."""
    asked, to, seed = run.job[asks.FrameOptions], run.job[of.FramesOutput], run.job[of.SeedChoice].seed
    model = simulate.FrameModel(
        n_components=asked.components, seed=seed, dim=asked.dim, rank=asked.rank, strength=asked.strength
    )
    simulated = model.frames(n_speakers=asked.speakers, n_sessions=asked.sessions, seconds=asked.seconds)
    write_frames(simulated, to.output)
    if to.utt2spk:
        pairs = zip(simulated.ids, simulated.speakers or (), strict=True)
        write_atomically(to.utt2spk, "".join(f"{name} {speaker}\n" for name, speaker in pairs))
    run.say(f"{simulated!r} written to {to.output}")
    run.content = {
        "kind": "frames", "seed": seed, "recordings": len(simulated), "parameters": asdict(asked),
        "output": to.output,
    }  # fmt: skip


def sample(run: Run) -> None:
    """The sample of the package as a file."""
    asked, output = run.job[asks.SampleChoice], run.job[of.SampleOutput].output
    trials = simulate.sample_trials(asked.split, system=asked.system)
    table = trials.table.rename({asked.system: "score"}).drop(*(set(SYSTEMS) - {asked.system}))
    write_trials(Trials(table, enroll="enroll", test="test"), output)
    n_target = int((table["label"] == "target").sum())
    written = f"{counted(len(table), 'trial')} ({counted(n_target, 'target')})"
    run.say(f"{written} of {asked.split} written to {output}")


def _population(space: asks.Space) -> simulate.Population:
    return simulate.Population.between_eers(space.eer_full, space.eer_short, dim=space.dim)


def _described(space: asks.Space, voices: simulate.Population) -> dict[str, Json]:
    names = ("dim", "between", "channel", "noise", "gender_gap")
    found = {name: getattr(voices, name) for name in names}
    return {"shift": space.shift, "rougher": space.rougher, **found}


def _write_simulated(
    run: Run,
    trials: simulate.SimulatedTrials | ConcatenatedTrials,
    kind: str,
    about: Mapping[str, Json],
    population: Mapping[str, float],
) -> None:
    """Write the trials as a file or as the parts of a folder, and tell what was written."""
    to, counts = run.job[of.SimulatedOutput], (trials.n_target, trials.n_nontarget)
    total = sum(counts)
    if to.output.endswith(("/", "\\")) or Path(to.output).is_dir():
        names = [name for name in to.columns or trials.columns if name not in ("score", "label")]
        wide = trials.with_columns(*names)
        with stage("simulating", total) as advance:
            write_partitions(wide.block, wide.n_blocks, to.output, on_part=advance)
    else:
        if to.columns:
            raise InputError("--columns needs a folder as output; files get all columns")
        write_trials(trials.trials(), to.output, format=to.to, key=to.key_output)
    said = "".join(f", {name} {value:.4f}" for name, value in population.items())
    run.say(
        f"{counted(total, 'trial')} ({counted(counts[0], 'target')}) written to {to.output}"
        + (f"; expected{said[1:]}" if said else "")
    )
    run.content = {
        "kind": kind, "seed": run.job[of.SeedChoice].seed, "n_target": counts[0], "n_nontarget": counts[1],
        "parameters": dict(about), "population": dict(population), "output": to.output,
    }  # fmt: skip


# from one number


def describe_pairs(run: Run) -> None:
    """The pair of each number, side by side."""
    asked = run.job[TheoryOptions]
    ways = {
        GaussianLLR.from_eer: asked.eer, GaussianLLR.from_d_prime: asked.d_prime,
        GaussianLLR.from_mu: asked.mu, GaussianLLR.from_sigma: asked.sigma, GaussianLLR.from_cllr: asked.cllr,
    }  # fmt: skip
    run.result = pairs = [made(value) for made, values in ways.items() for value in values]
    costs = costs_of(asked.points, allow_unconfirmed=asked.allow_unconfirmed)
    found = [_numbers_of_pair(pair, costs) for pair in pairs]
    first = found[0]
    rows = [
        ("EER", *(percent(one["eer"]) for one in found)),
        ("mu (mean target LLR)", *(number(one["mu"]) for one in found)),
        ("sigma = d'", *(number(one["sigma"]) for one in found)),
        ("AUC", *(number(one["auc"], 5) for one in found)),
        ("Cllr (bits)", *(number(one["cllr"]) for one in found)),
    ]
    for i, point in enumerate(first["points"]):
        rows.append((f"DCF {point['name']}", *(number(one["points"][i]["min_dcf"]) for one in found)))
    for i, mean in enumerate(first["primaries"]):
        rows.append((f"C_primary {mean['name']}", *(number(one["primaries"][i]["min"]) for one in found)))
    run.table([""] * (len(pairs) + 1), rows, title="Calibrated Gaussian LLRs")
    run.content = first if len(found) == 1 else {**first, "rows": found}


def _numbers_of_pair(pair: GaussianLLR, costs: list[Preset]) -> dict[str, Any]:
    """The numbers of a pair; it is calibrated, so its actual costs are the minimum ones."""
    points: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for cost in costs:
        least = [pair.min_dcf(point) for point in cost.points]
        points += [
            {"name": point.name, "p_target": point.p_target, "c_miss": point.c_miss, "c_fa": point.c_fa,
             "min_dcf": value, "act_dcf": value}
            for point, value in zip(cost.points, least, strict=True)
        ]  # fmt: skip
        if cost.averages:
            mean = sum(least) / len(least)
            means.append({"name": cost.name, "min": mean, "act": mean})
    numbers = {name: float(getattr(pair, name)) for name in ("eer", "d_prime", "mu", "sigma", "auc", "cllr")}
    return {**numbers, "points": points, "primaries": means}
