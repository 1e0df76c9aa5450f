"""`bnnbench gold`: distances of any program's predictions to stored samples of the posterior."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

SUMMARY = "distance of your predictions to stored samples of the posterior"

DESCRIPTION = """\
Print how far predictions of any program are from the posterior, which is represented by stored
draws of long HMC chains. Nothing is trained. The model is fixed: the network, prior and noise of
experiment=gold_standard.

FILE has draws of the function that the network computes, without noise, in the units of the target:
a CSV file with the columns split and row and a column per draw, or an .npz file with the arrays
split, row and function. Each row is a test point; draw k is the same function at every point of a
split. Every split must have all of its test rows; splits may be missing.
"""

EXAMPLES = """\
examples:
  bnnbench gold mine.csv                       yacht, the reference that is shipped
  bnnbench gold mine.npz --reference my.npz    another reference
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "file", metavar="FILE", type=Path, help="draws of the function: CSV or .npz"
    )
    parser.add_argument(
        "--reference", default="yacht", metavar="NAME", help="a shipped reference, or a file"
    )


def run(given: Namespace) -> int:
    """Print the distances of a file's predictions to a reference.

    Raises:
        UserError: if the file or the reference cannot be read, or they do not match.
    """
    from bnnbench.cli.console import stdout
    from bnnbench.report import blocks
    from bnnbench.report.renderers.terminal import render
    from bnnbench.suites.gold_standard.comparison import DISTANCES
    from bnnbench.suites.gold_standard.references import read_functions, read_reference, score

    reference = read_reference(given.reference)
    rows = score(read_functions(given.file), reference)
    own, halves = (rows[rows["halves"] == value] for value in (False, True))
    about, n_splits = reference.about, len(own)
    table = blocks.fill(
        blocks.columns({"Distance": "{title}"}, {"Yours": "{yours}", "Halves": "{halves}"}),
        [
            {
                "title": metric.title,
                "yours": blocks.plus_minus(own[metric.key].mean(), own[metric.key].sem()),
                "halves": blocks.plus_minus(halves[metric.key].mean(), halves[metric.key].sem()),
            }
            for metric in DISTANCES
        ],
    )
    worst = reference.splits["r_hat"].max(), reference.splits[["bulk_ess", "tail_ess"]].min().min()
    notes = (
        f"{about['dataset']}, {n_splits} of {len(reference.splits)} splits: mean ± standard error; "
        "standard deviations of the training targets.",
        f"Halves: between halves of the {reference.stored.mixture.components} stored draws.",
        f"Worst split of the chains: R-hat {worst[0]:.3f}, ESS {worst[1]:.0f}. "
        f"Licence of the reference: {about['licence']}.",
    )
    console = stdout()
    for renderable in render([table, blocks.ItemList(notes)]):
        console.print(renderable, highlight=False)
    return 0
