"""``llrkit plot``: one figure for a paper, or one interactive page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from llrkit.cli.class_options import classes_option, prior_option
from llrkit.cli.kinds.several_classes import SeveralClassFiles
from llrkit.cli.options import asking, parse_share, split_names
from llrkit.cli.plot_options import (
    OF_CLASSES,
    OF_RESULTS,
    OF_SCORES,
    OTHERS,
    ToPlot,
    refuse_reading,
    refuse_unused,
)
from llrkit.cli.plotted_trials import pictures_of_scores, read_systems, shown_of
from llrkit.cli.shared_options import base_10_option, point_option, vocabulary_option
from llrkit.cli.shown_warnings import unwarned
from llrkit.cli.trial_input import (
    TrialInput,
    cluster_options,
    names_option,
    reading_options,
    score_columns_option,
)
from llrkit.errors import InputError, PooledClassesWarning
from llrkit.results.vocabulary import vocabulary

if TYPE_CHECKING:
    from llrkit.plot.all_plots import Shown
    from llrkit.plot.picture import Picture

ALIASES = {"ece": "cross-entropy"}
ENDINGS = (".pdf", ".svg", ".png", ".html", ".htm")
CURVES = ("steps", "hull")
STYLES = ("above", "crossing")


@click.command("plot")
@click.argument(
    "kind", type=click.Choice([*OF_SCORES, *OTHERS, *OF_CLASSES, *OF_RESULTS, *ALIASES]), metavar="KIND"
)
@click.argument("scores", nargs=-1)
@click.option("-o", "--output", required=True, metavar="FILE", help="pdf, svg or png; html is interactive.")
@score_columns_option
@names_option
@point_option
@click.option(
    "--by",
    metavar="COL[,COL]",
    help="One curve for each value or combination; for zoo the speaker; for heat-map the rows and columns.",
)
@click.option(
    "--curve",
    type=click.Choice(CURVES),
    default="steps",
    show_default=True,
    help="det, roc: the exact steps or the convex hull.",
)
@click.option(
    "--style",
    type=click.Choice(STYLES),
    default="above",
    show_default=True,
    help="tippett: both curves at or above, or targets below.",
)
@click.option("--axes", type=click.Choice(["probit", "log"]), default="probit", show_default=True,
              help="det: probit axes, or logarithmic ones down to 1e-6.")  # fmt: skip
@vocabulary_option
@click.option("--fmr", metavar="RATE", help="groups: one threshold for all, at this false match rate.")
@click.option("--bands", is_flag=True, help="det, tippett, cross-entropy: draw confidence bands.")
@click.option(
    "--speakers",
    metavar="COL[,COL]",
    help="The columns with the speakers of the two sides, for bands and idempotence.",
)
@base_10_option
@click.option("--title", help="Title of the figure; '' for none.")
@click.option("--no-legend", is_flag=True, help="Draw no legend.")
@click.option("--shared", metavar="CLASS", help="For --by: the class all groups share, target or nontarget.")
@click.option("--value", default="eer", show_default=True, help="heat-map: eer, cllr, min_cllr or cllr_cal.")
@click.option("--eer", metavar="RATE", help="two-gaussians: an EER such as 5%, instead of a score file.")
@click.option(
    "--width",
    default="column",
    show_default=True,
    metavar="column|page|INCHES",
    help="Width of the figure; a column is 3.4 inches, a page 7.",
)
@classes_option
@prior_option
@reading_options
@cluster_options  # fmt: skip
@asking(ToPlot)
def plot_command(
    asked: ToPlot,
    kind: str,
    scores: tuple[str, ...],
    output: str,
    width: str,
    **reading: Any,
) -> None:
    """Draw a figure from score files.

    Several files or columns are drawn together.

    \b
    KIND is one of
      det, roc            misses and false alarms
      ape, bayes-error    errors and costs at every prior
      cross-entropy       empirical cross-entropy at every prior (also called ece)
      tippett, histogram  the LLRs themselves
      pav                 score to LLR, and the identity
      reliability         share of targets against the posterior probability
      idempotence         the LLR of the LLR, with its range by chance
      two-gaussians       calibrated LLRs with the EER of SCORES, or --eer
      theory              costs against the EER for families of calibrated LLRs, with SCORES as points (each
                          value of --by is one), or the lists in the JSON of llrkit reproduce
      heat-map            a number for each pair of conditions (--by COL,COL), or for each group of each
                          system (--by attack --shared bonafide)
      zoo                 speakers (--by COL)
      cmc                 ranks of mates in searches (--by COL names the search)
      groups              FMR and FNMR of groups of people at one threshold (--by COL)
      class-det, confusion, class-calibration, pair-histogram, class-idempotence
                          several classes
      fusion-weights      SCORES is a fusion file made by llrkit fuse
      mixing              SCORES is a calibration file of --method mixture
      cllr-scatter        SCORES is the JSON of llrkit reproduce durations
      prior-scan          SCORES is the JSON of llrkit reproduce prior-scan

    \b
    Examples:
      llrkit plot det a.csv b.csv -o det.pdf
      llrkit plot bayes-error scores.tsv --score-columns plda,cosine -o costs.svg --width page
      llrkit plot tippett llrs.csv --style crossing --base-10 -o tippett.html
      llrkit plot heat-map scores.csv --by enroll_duration,test_duration --value cllr -o heat.png
      llrkit plot theory scores.csv --by test_duration --point sre12 -o theory.html
      llrkit plot det face.csv --axes log --vocabulary biometrics -o det.pdf
      llrkit plot groups face.csv --by sex --fmr 1e-3 -o groups.pdf
      llrkit plot confusion languages.tsv -o confusion.pdf
    """
    from llrkit.core.groups import speaks_of_spoofs

    kind = ALIASES.get(kind, kind)
    if not scores and not (kind == "theory" or (kind == "two-gaussians" and asked.eer)):
        raise InputError(f"plot {kind}: give at least one file of scores")
    if not output.lower().endswith(ENDINGS):
        raise InputError(f"{output}: expected a file that ends in pdf, svg, png or html")
    refuse_unused(kind, click.get_current_context())
    words = vocabulary(asked.words)
    names = split_names(asked.names or "") or []
    with unwarned(PooledClassesWarning, when=speaks_of_spoofs(asked.shared)):
        pictures = _pictures_to_draw(kind, scores, asked, TrialInput.of(reading))
    if asked.base_10:
        pictures = _pictures_to_base_10(kind, pictures)
    pictures = [picture.said_in(words, keep=names) for picture in pictures]
    if asked.title is not None or asked.no_legend:
        from llrkit.plot.picture import Look, with_look

        look: Look = {"title": asked.title, "legend": False if asked.no_legend else None}
        pictures = [with_look(picture, look) for picture in pictures]
    if output.lower().endswith((".html", ".htm")):
        from llrkit.plot.plotly_renderer import write_page

        write_page(pictures, output)
    else:
        from llrkit.plot.matplotlib_renderer import WIDTHS, save

        save(pictures, output, width=width if width in WIDTHS else parse_share(width, "--width"))
    click.echo(f"Written to {output}")


def _pictures_to_base_10(kind: str, pictures: list[Picture]) -> list[Picture]:
    from llrkit.plot.picture import to_base_10

    converted = [to_base_10(picture) for picture in pictures]
    labels = "".join(f"{picture.x.label}{picture.y.label}" for picture in pictures)
    if converted == pictures and "log10" not in labels:
        click.echo(f"plot {kind} shows no natural logarithm; --base-10 changes nothing.", err=True)
    return converted


def _pictures_to_draw(kind: str, scores: tuple[str, ...], asked: ToPlot, given: TrialInput) -> list[Picture]:
    from llrkit.plot.all_plots import PLOTS

    plot = PLOTS[kind.replace("-", "_")]
    if kind in OF_CLASSES:
        files = SeveralClassFiles(scores, given, asked.classes, asked.prior)
        return [plot.picture(curve) for curve in files.curves(kind)]
    if asked.shared and kind not in (*OF_SCORES, "heat-map"):
        raise InputError(f"plot {kind}: --shared is for groups of one column (--by COLUMN)")
    if kind in OF_SCORES:
        return pictures_of_scores(kind, plot, scores, asked, given)
    if kind in OF_RESULTS:
        refuse_reading(kind, given.reading)
        return [plot.picture(curve) for file in scores for curve in _curves_to_draw(kind, file)]
    if kind == "theory":
        from llrkit.cli.plotted_result_files import theory_of

        if not scores or scores[0].lower().endswith(".json"):
            refuse_reading(kind, given.reading, by=asked.by)
        curves = theory_of(scores, asked, lambda files: read_systems(files, asked, given))
        for curve in curves:
            click.echo(curve.sentence)
        return [plot.picture(curve) for curve in curves]
    if kind == "two-gaussians" and asked.eer:
        if scores:
            raise InputError("plot two-gaussians: give a file of scores or --eer, not both")
        from llrkit.theory import GaussianLLR

        rate = parse_share(asked.eer, "--eer")
        return [plot.picture(GaussianLLR.from_eer(rate))]
    if kind == "heat-map" and asked.by and "," not in asked.by:
        from llrkit.verbs.conditions import group_map

        read = read_systems(scores, asked, given)
        groups = group_map(read, asked.by, value=asked.value, shared=asked.shared)
        return [plot.picture(groups)]
    if asked.shared:
        raise InputError("plot heat-map: --shared is for groups of one column (--by COLUMN)")
    return [
        plot.picture(shown_of(kind, trials, asked)) for trials in read_systems(scores, asked, given).values()
    ]


def _curves_to_draw(kind: str, file: str) -> list[Shown]:
    from llrkit.cli.plotted_result_files import fusion_weights_of, mixing_of, scans_of, scatter_of

    if kind == "prior-scan":
        return list(scans_of(file))
    if kind == "mixing":
        return [mixing_of(file)]
    return [fusion_weights_of(file) if kind == "fusion-weights" else scatter_of(file)]
