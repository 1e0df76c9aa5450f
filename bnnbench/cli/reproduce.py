"""`bnnbench reproduce`: every experiment of the sources, one after the other, under one view."""

from __future__ import annotations

from argparse import REMAINDER, RawDescriptionHelpFormatter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bnnbench.types import Redundant, UserError

BOOK = {"linear_regression": "method=bbb,practical_vi,vadam,vprop,laplace", "toy_1d": ""}
GVI = {"gp_toy": "", "gvi_alpha": "", "gvi_uci": "", "gvi_competitors": ""}
SMALL = "dataset=boston,concrete,energy,yacht"

SUITES = {
    "small": {**BOOK, "book_uci": SMALL},
    "gvi": GVI,
    "all": {**BOOK, "book_uci": f"{SMALL},wine,kin8nm,power,naval", **GVI},
}
"""The experiments of each suite with what they are given beside their own sweeps, in order."""

REPORTED = ("toy_1d", "book_uci", "gp_toy", "gvi_alpha", "gvi_uci")
"""Those whose runs one report gathers; the others show each run by itself or share a folder."""

DESCRIPTION = """\
Reproduce the published experiments: the straight line of the lecture, the book's one-dimensional
toy and its comparison on the UCI sets, and the experiments of the GVI thesis, each with its
report. Everything that is finished is left alone, so the same command goes on after an
interruption.

  small    the book's, on boston, concrete, energy, yacht: about an hour on two cores
  gvi      the thesis's, on the same data sets: about two hours
  all      both, the book's on wine, kin8nm, power and naval too: about seven hours
"""

EXAMPLES = """\
examples:
  bnnbench reproduce
  bnnbench reproduce all outputs_dir=DIR
  bnnbench reproduce small seed=1 outputs_dir=again
"""


def add_parser(subparsers: Any) -> None:
    """Adds `reproduce`, which sets `run`, a function of the parsed arguments."""
    parser = subparsers.add_parser(
        "reproduce",
        help="run every published experiment, resumable, with its reports",
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "suite",
        metavar="SUITE",
        nargs="?",
        default="small",
        help="small, gvi or all (default: small)",
    )
    parser.add_argument(
        "overrides",
        metavar="KEY=VALUE",
        nargs=REMAINDER,
        help="settings for every run, as `bnnbench run` takes them",
    )
    parser.set_defaults(run=lambda given: reproduce(given.suite, given.overrides))


def overrides_of(suite: str, given: Sequence[str]) -> dict[str, list[str]]:
    """By experiment, what its sweep is started with.

    Raises:
        UserError: if there is no such suite.
    """
    if suite not in SUITES:
        raise UserError(f"SUITE must be one of {', '.join(SUITES)}, not {suite!r}.")
    return {
        name: [f"experiment={name}", *fixed.split(), *given]
        for name, fixed in SUITES[suite].items()
    }


@contextmanager
def speaking_of(experiment: str) -> Iterator[None]:
    """Names the experiment in what is wrong: a setting that one has no use for may suit others."""
    try:
        yield
    except UserError as error:
        raise UserError(f"experiment={experiment}: {error}") from None


def reproduce(suite: str, given: Sequence[str]) -> int:
    """Runs and reports all experiments; what one of them refuses does not stop the others.

    Raises:
        UserError: if a setting is wrong, at once; in the end, if a run was refused.
    """
    from rich.console import Console

    from bnnbench.cli.build import build
    from bnnbench.cli.report import report_command
    from bnnbench.cli.show import show_run
    from bnnbench.cli.sweep import configs_of
    from bnnbench.experiment import sweep_progress as view
    from bnnbench.report.pages import write_any_report

    console = Console(stderr=True)
    configs, runs = {}, []
    for name, words in overrides_of(suite, given).items():
        with speaking_of(name), console.status(f"checking every run of {name} ..."):
            configs[name] = configs_of(words)
            for config in configs[name]:
                with suppress(Redundant):  # a product of methods and divergences has such pairs
                    runs.append(build(config))
    refused = []
    view.begin([plan for _, plan in runs])
    for experiment, plan in runs:
        try:
            show_run(experiment.run(plan, write_any_report))
        except UserError as error:
            refused.append(str(error))
    for name, some in configs.items():
        folder = Path(str(some[0]["outputs_dir"])) / name
        if name in REPORTED and folder.is_dir():
            report_command(folder)
    if refused:
        raise UserError(" ".join(dict.fromkeys(refused)))
    return 0
