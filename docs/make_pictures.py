"""Draws the picture of the README from a table of scores that several systems gave the same trials.

    python docs/make_pictures.py voxceleb1_o_4systems.tsv.gz --label-column target \
        --systems ivector_cosine,ivector_lda,ivector_plda,resnet_aam --names "..."
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt

import llrkit as lk


def main() -> None:
    """Evaluate every system, draw the picture, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("table")
    parser.add_argument("--systems", required=True)
    parser.add_argument("--names")
    parser.add_argument("--label-column", default="label")
    parser.add_argument("-o", "--output", default="docs/pictures/det.png")
    options = parser.parse_args()
    columns = options.systems.split(",")
    names = options.names.split(",") if options.names else columns
    results = {
        name: lk.evaluate(
            lk.read_trials(options.table, score=column, label=options.label_column), points=["sre08"]
        )
        for name, column in zip(names, columns, strict=True)
    }
    with plt.style.context(lk.plot.STYLE):
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.5))
        lk.plot.det(results, ax=left)
        third = names[2]
        lk.plot.bayes_error({third: results[third]}, ax=right, rule_of_30=False)
        right.set_title(f"{third}: Cllr {results[third].cllr:.3f}, minimum {results[third].min_cllr:.3f}")
        Path(options.output).parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(options.output, dpi=150)
    print(lk.format_table(results, "markdown"))


if __name__ == "__main__":
    main()
