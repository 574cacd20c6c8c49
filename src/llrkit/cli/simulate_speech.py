"""``llrkit simulate plda``, ``embeddings`` and ``frames``: speakers, not only scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from llrkit.cli.options import Command, asking, parse_share
from llrkit.cli.output import json_option, write_json
from llrkit.cli.simulate import numbers, write_simulated
from llrkit.cli.simulate_options import ToWrite, output_options

if TYPE_CHECKING:
    from llrkit.base.text import Json
    from llrkit.simulate.speakers import Population


@dataclass(frozen=True, kw_only=True)
class Space:
    """The space that embeddings live in, as it was typed."""

    eer_full: str
    eer_short: str
    dim: int
    shift: float
    rougher: float

    def population(self) -> Population:
        """Its speakers."""
        from llrkit.simulate.speakers import Population

        ends = parse_share(self.eer_full, "--eer-full"), parse_share(self.eer_short, "--eer-short")
        return Population.between_eers(*ends, dim=self.dim)


@dataclass(frozen=True, kw_only=True)
class ToSimulatePLDA(ToWrite, Space):
    """Options of ``simulate plda``."""


def population_options(command: Command) -> Command:
    """Options of the space that embeddings live in."""
    for option in (
        click.option("--rougher", default=1.0, show_default=True, help="Factor by which the variance within "
        "speakers grows."),
        click.option("--shift", default=0.0, show_default=True, help="How far the mean has moved."),
        click.option("--dim", default=100, show_default=True, help="Number of dimensions."),
        click.option("--eer-short", default="26%", show_default=True, metavar="E",
                     help="EER of exact LLRs for two segments of 5 s."),
        click.option("--eer-full", default="2.9%", show_default=True, metavar="E",
                     help="EER of exact LLRs for two whole segments of 100 s."),
    ):  # fmt: skip
        command = option(command)
    return command


@click.command("plda")
@population_options
@click.option("--speakers", default=100, show_default=True, help="Number of speakers, half of each gender.")
@click.option("--models", default=200, show_default=True, help="Total number of enrolled recordings.")
@click.option("--tests", default=400, show_default=True, help="Total number of test recordings.")
@click.option("--durations", default="100", show_default=True, metavar="S,S",
              help="Seconds of both sides; the model of the longest scores all of them.")  # fmt: skip
@output_options
@asking(ToSimulatePLDA)
def plda_command(asked: ToSimulatePLDA, speakers: int, models: int, tests: int, durations: str) -> None:
    """All pairs of recordings of simulated speakers, scored by PLDA: trials that depend on each other.

    With one duration and no shift the scores are exact LLRs. Shorter durations than the longest, --shift and
    --rougher make them miscalibrated.

    \b
    Examples:
      llrkit simulate plda --eer-full 5% --speakers 200 -o trials.parquet
      llrkit simulate plda --durations 5,20,100 --shift 0.5 -o trials.csv
    """
    from llrkit.base.arguments import checked_seed
    from llrkit.simulate.speakers import simulate_plda

    voices, seconds = asked.population(), numbers(durations, "--durations")
    simulated = simulate_plda(
        voices,
        n_speakers=speakers,
        n_models=models,
        n_tests=tests,
        durations=seconds,
        shift=asked.shift,
        rougher=asked.rougher,
        rng=checked_seed(asked.seed),
    )
    known: dict[str, float] = {}
    if len(simulated.sources) == 1 and asked.shift == 0.0 and asked.rougher == 1.0:
        pair = voices.pair(seconds[0], seconds[0])
        known = {"eer": pair.eer, "cllr": pair.cllr}
    about: dict[str, Json] = {
        "speakers": speakers, "models": models, "tests": tests, "durations": list(seconds),
        "shift": asked.shift, "rougher": asked.rougher, **_population_described(voices),
    }  # fmt: skip
    write_simulated(simulated, "plda", (simulated.n_target, simulated.n_nontarget), about, known, asked)


@click.command("embeddings")
@population_options
@click.option("--background", default=400, show_default=True, help="Speakers that train a recognizer.")
@click.option("--speakers", default=40, show_default=True, help="Speakers of dev and of eval.")
@click.option("--sessions", default=4, show_default=True, help="Recordings of a speaker on each side.")
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same embeddings.")
@click.option(
    "-o", "--output", required=True, metavar="FILE", help="File to write the embeddings to: .npz or .ark."
)
@json_option
@asking(Space)
def embeddings_command(
    asked: Space, background: int, speakers: int, sessions: int, seed: int, output: str,
    json_path: str | None,
) -> None:  # fmt: skip
    """Embeddings of simulated speakers in splits train, dev and eval, cut to 5, 10, 20, 40 s and whole.

    --shift and --rougher say how far the split eval is from the others.

    \b
    Example:
      llrkit simulate embeddings --shift 0.3 -o embeddings.npz
      llrkit reproduce real --embeddings embeddings.npz
    """
    from llrkit.simulate.speakers import simulate_embeddings
    from llrkit.speech.embeddings import write_embeddings

    voices = asked.population()
    simulated = simulate_embeddings(
        voices,
        n_background=background,
        n_speakers=speakers,
        n_sessions=sessions,
        shift=asked.shift,
        rougher=asked.rougher,
        rng=seed,
    )
    write_embeddings(simulated, output)
    click.echo(f"{simulated!r} written to {output}", err=json_path == "-")
    about = {"background": background, "speakers": speakers, "sessions": sessions, "shift": asked.shift,
             "rougher": asked.rougher, **_population_described(voices)}  # fmt: skip
    content: dict[str, Json] = {
        "kind": "embeddings",
        "seed": seed,
        "rows": len(simulated),
        "parameters": about,
        "output": output,
    }
    write_json(content, "simulate", json_path)


@click.command("frames")
@click.option("--components", default=16, show_default=True, help="Gaussians of the universal mixture.")
@click.option("--dim", default=8, show_default=True, help="Number of features per frame.")
@click.option("--rank", default=6, show_default=True, help="Dimensions in which speakers differ.")
@click.option("--strength", default=0.4, show_default=True, help="How much speakers differ.")
@click.option("--speakers", default=20, show_default=True, help="Number of speakers.")
@click.option("--sessions", default=4, show_default=True, help="Recordings of each speaker.")
@click.option(
    "--seconds", default=20.0, show_default=True, help="Duration in seconds, at 100 frames per second."
)
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same frames.")
@click.option("-o", "--output", required=True, metavar="FILE", help="A file .npz or .ark.")
@click.option("--utt2spk", metavar="FILE", help="Also write the speakers, as Kaldi's utt2spk.")
@json_option
def frames_command(
    components: int, speakers: int, sessions: int, seconds: float, seed: int, output: str,
    utt2spk: str | None, json_path: str | None, dim: int, rank: int, strength: float,
) -> None:  # fmt: skip
    """Frames of simulated recordings, each from a Gaussian mixture of its own.

    \b
    Example:
      llrkit simulate frames --speakers 30 --seconds 30 -o frames.npz --utt2spk utt2spk
    """
    from llrkit.base.files import write_atomically
    from llrkit.simulate.speakers import FrameModel, write_frames

    model = FrameModel(n_components=components, seed=seed, dim=dim, rank=rank, strength=strength)
    simulated = model.frames(n_speakers=speakers, n_sessions=sessions, seconds=seconds)
    write_frames(simulated, output)
    if utt2spk:
        pairs = zip(simulated.ids, simulated.speakers or (), strict=True)
        write_atomically(utt2spk, "".join(f"{name} {speaker}\n" for name, speaker in pairs))
    click.echo(f"{simulated!r} written to {output}", err=json_path == "-")
    about: dict[str, Json] = {
        "components": components, "dim": dim, "rank": rank, "strength": strength, "speakers": speakers,
        "sessions": sessions, "seconds": seconds,
    }  # fmt: skip
    content: dict[str, Json] = {
        "kind": "frames",
        "seed": seed,
        "recordings": len(simulated),
        "parameters": about,
        "output": output,
    }
    write_json(content, "simulate", json_path)


def _population_described(voices: Population) -> dict[str, float]:
    return {name: getattr(voices, name) for name in ("dim", "between", "channel", "noise", "gender_gap")}
