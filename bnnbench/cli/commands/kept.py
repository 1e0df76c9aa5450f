"""`bnnbench kept`: results that are kept for comparisons, and how to add to them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.types import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from bnnbench.results.kept.edition import Edition
    from bnnbench.results.kept.plausibility import Finding

SUMMARY = "list kept results, check and add results"

DESCRIPTION = """\
List the editions of kept results, their tracks, and the cells of method and data set that they
have, with the commands that fill the others. An edition contains the scores of every split of many
methods; runs are compared within a track. See docs/how_to/kept_results.md.
"""

EXAMPLES = """\
examples:
  bnnbench kept                                the newest edition of the package
  bnnbench kept --edition kept                 the edition in the folder kept
  bnnbench kept check scores.csv               check scores of another program
  bnnbench kept check outputs                  check finished runs
  bnnbench kept add outputs --by "A. Author"   add them to the edition in the folder kept
  bnnbench kept verify RUN                     compute two splits of a kept run again
  bnnbench kept freeze kept                    allow no more changes
"""

ADD_HELP = """\
Check runs as `bnnbench kept check` does, and add those without faults to an open edition. Adding a
run again replaces its rows if its code is the same. Two codes under one digest of a run are
refused.
"""

CHECK_HELP = """\
Check results before they are added, and print all faults and marks.

PATH is a folder of finished runs; or a CSV file with a row per method and published split:

  method, dataset, fingerprint, training_fingerprint, rmse, log_likelihood     required
  crps, log_likelihood_joint, log_likelihood_gaussian, search_seconds,
  fit_seconds, predict_seconds, cpu_seconds, reference_seconds, diverged, hp.*   optional

or a folder with such a file as splits.csv, a submission.toml (by, reference, tuning, fits, compute)
and optionally predictions.csv (method, dataset, fingerprint, target, mean, variance, log_density),
from which the scores are recomputed. Fingerprints are listed in fingerprints.csv of an edition.
Units are original ones, log-likelihoods are in nats per point.

Exit code 0: no fault; 1: at least one.
"""

VERIFY_HELP = """\
Compute random splits of a kept run again and compare their scores.

  bnnbench kept verify c6eb01208788            RUN is a value of the column run of bnnbench.kept()

Exit code 0: all scores agree to a relative difference of 1e-6; 1: they do not.
"""

DEFAULT_FOLDER = Path("kept")
"""The open edition of a project."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command and its subcommands."""
    parser.add_argument(
        "--edition", metavar="EDITION", help="name or folder (default: the newest of the package)"
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    check = commands.add_parser("check", help="check results", description=CHECK_HELP)
    check.add_argument("path", metavar="PATH", type=Path, help="a file or a folder")
    check.set_defaults(run=run_check)
    add = commands.add_parser("add", help="add results to an open edition", description=ADD_HELP)
    add.add_argument("path", metavar="PATH", type=Path, help="a file or a folder")
    add.add_argument("--by", default="", metavar="NAME", help="who adds them")
    add.add_argument("--reference", default="", metavar="TEXT", help="of a paper or code")
    add.add_argument(
        "--tuning",
        default="",
        metavar="KIND",
        help="none, folds, evidence, authors, test or unknown (default: by the settings of a run)",
    )
    add.add_argument(
        "--fits", type=int, metavar="N", help="fits per split, for scores of other programs"
    )
    add.add_argument(
        "--edition",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="DIR",
        help="folder of the edition, created if it does not exist (default: kept)",
    )
    add.set_defaults(run=run_add)
    verify = commands.add_parser("verify", help="compute splits again", description=VERIFY_HELP)
    verify.add_argument("kept_run", metavar="RUN", help="a value of the column run")
    verify.add_argument("--splits", type=int, default=2, metavar="N", help="how many (default: 2)")
    verify.set_defaults(run=run_verify)
    freeze = commands.add_parser("freeze", help="allow no more changes of an edition")
    freeze.add_argument("folder", metavar="DIR", type=Path, help="folder of the edition")
    freeze.set_defaults(run=run_freeze)


def run(given: argparse.Namespace) -> int:
    """Print the editions, and tracks and cells of one.

    Raises:
        UserError: if there is no such edition.
    """
    import pandas as pd

    from bnnbench.cli.console import stdout
    from bnnbench.cli.kept_cells import cells_of
    from bnnbench.results.kept.edition import editions, find_edition, read_edition

    edition = read_edition(given.edition)
    console = stdout()
    names = list(dict.fromkeys((str(find_edition(given.edition)), *map(str, editions().values()))))
    console.print("editions:", *names, sep="\n  ", highlight=False)
    console.print(_tracks(edition))
    machines = pd.DataFrame(list(edition.runs["environment"]))[["commit", "device"]].fillna("?")
    for (commit, device), runs in machines.groupby(["commit", "device"]):
        console.print(f"{len(runs)} runs of commit {commit[:7]} on {device}", highlight=False)
    cells = cells_of(edition)
    kept = cells.table.rename_axis("method").reset_index()
    console.print(_table("splits kept under the published protocol", kept))
    for method, reason in cells.reasons.items():
        console.print(f"n/a: {method} {reason}", highlight=False)
    if cells.commands:
        console.print("\nto fill the missing cells:", highlight=False)
    for line in (*cells.commands, "bnnbench kept add outputs --by NAME"):
        print(f"  {line}")
    return 0


def run_check(given: argparse.Namespace) -> int:
    """Print all findings; return 1 if there is a fault.

    Raises:
        UserError: if nothing can be read.
    """
    from bnnbench.results.kept.candidates import Claims
    from bnnbench.results.kept.edition import find_edition
    from bnnbench.results.kept.write import check, read_content

    _prepare()
    submission = check(given.path, read_content(find_edition()), Claims())
    print(f"{len(submission.candidates)} runs without faults, {submission.skipped} on other data")
    return _print_findings(submission.findings)


def run_add(given: argparse.Namespace) -> int:
    """Add runs to an edition and print what became of them; return 1 if any was refused.

    Raises:
        UserError: if the edition is frozen or an option is wrong.
    """
    from bnnbench.results.kept.candidates import Claims
    from bnnbench.results.kept.write import add

    _prepare()
    if not given.by.strip():
        raise UserError("--by is missing: name who adds the results.", "--by")
    claims = Claims(given.by, given.reference, given.tuning, given.fits)
    result = add(given.edition, given.path, claims)
    print(
        f"{given.edition}: {len(result.added)} runs added, {len(result.replaced)} replaced, "
        f"{len(result.unchanged)} unchanged, {result.skipped} on other data"
    )
    return _print_findings(result.findings)


def run_verify(given: argparse.Namespace) -> int:
    """Print kept scores next to those of a new computation; return 1 if they differ.

    Raises:
        UserError: if there is no such run, or its settings cannot be composed.
    """
    from bnnbench.cli.console import stdout
    from bnnbench.cli.kept_verification import verify_run
    from bnnbench.constraints import check_int
    from bnnbench.results.kept.edition import read_edition

    check_int("--splits", given.splits, minimum=1)
    found = verify_run(read_edition(given.edition), given.kept_run, given.splits)
    formats = {"kept": "{:.7g}", "now": "{:.7g}", "difference": "{:.1e}"}
    texts = {name: found.table[name].map(form.format) for name, form in formats.items()}
    stdout().print(_table(f"run {given.kept_run}", found.table.assign(**texts)))
    if found.other_code:
        print(f"the kept run was computed with {found.other_code}")
    print("the scores agree" if found.equal else "the scores differ")
    return 0 if found.equal else 1


def run_freeze(given: argparse.Namespace) -> int:
    """Freeze an edition.

    Raises:
        UserError: if there is none, or it is frozen already.
    """
    from bnnbench.results.kept.edition import find_edition
    from bnnbench.results.kept.write import freeze

    freeze(find_edition(str(given.folder)))
    print(f"frozen: {given.folder}")
    return 0


def _prepare() -> None:
    """Let runs be compared with the published protocol."""
    from bnnbench.config.published_protocol import use_published_protocols

    use_published_protocols()


def _print_findings(findings: Sequence[Finding]) -> int:
    """Print a line for each finding; return 1 if one is a fault, else 0."""
    from bnnbench.notes import one_line

    for finding in findings:
        print(f"{'refused' if finding.fault else 'marked'}: {one_line(finding.text)}")
    return int(any(finding.fault for finding in findings))


def _tracks(edition: Edition) -> Any:
    title = f"tracks of edition {edition.name} ({'frozen' if edition.frozen else 'open'})"
    ranked = (edition.runs["unranked"] == "").groupby(edition.runs["track"])
    counts = ranked.agg(["size", "sum"]).reindex(list(edition.tracks), fill_value=0)
    table = counts.assign(description=list(edition.tracks.values())).reset_index()
    columns = dict(zip(table, ["track", "runs", "in ranks", "description"], strict=True))
    return _table(title, table.rename(columns=columns))


def _table(title: str, frame: pd.DataFrame) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(*map(str, frame.columns), title=title, title_justify="left", box=SIMPLE_HEAD)
    for row in frame.astype(str).itertuples(index=False):
        table.add_row(*row)
    return table
