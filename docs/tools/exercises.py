"""Run the exercises of the book's pages: `python docs/tools/exercises.py OUTPUTS`.

The command of each run is the one that the page prints below the question. The numbers of the
answer, which `docs/results/exercises.toml` finds in the tables of the run, are stored in
`docs/results/exercises.csv`; run `docs/tools/update_pages.py` next. Runs of code that was not
committed are refused. A run that OUTPUTS contains is not repeated.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import pandas as pd
from gather_results import check_committed
from stored_results import RESULTS

from bnnbench.config.assemble import build_run
from bnnbench.config.compose import single_job
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.blocks import plus_minus
from bnnbench.results.compare.significance import mean_error
from bnnbench.run_all import write_derived_tables

CHAPTERS = RESULTS.parent / "book"
DECLARED, STORED = RESULTS / "exercises.toml", RESULTS / "exercises.csv"

EXERCISE = re.compile(
    r"^\*\*Exercise (\d\.\d+)\.\*\* .*?^```sh\n(.*?)^```\n\n"
    r"<details>\n<summary>Answer</summary>\n\n(.*?)\n\n</details>$",
    re.M | re.S,
)
"""The number of an exercise, its shell block, and its answer."""


BEFORE = "before"
"""The key of another command of the page, whose numbers are shown for comparison."""


def declared() -> dict[str, dict[str, Any]]:
    """Return where the numbers of each exercise are, by name."""
    return tomllib.loads(DECLARED.read_text())


def on_pages() -> dict[str, tuple[str, str]]:
    """Return the command and the answer of each exercise, in the order of the pages."""
    pages = [path.read_text() for path in sorted(CHAPTERS.glob("chapter_*.md"))]
    return {
        exercise: (block.strip(), answer)
        for page in pages
        for exercise, block, answer in EXERCISE.findall(page)
    }


def run(command: str, outputs: Path) -> RunFolder:
    """Run a command of a page, unless `outputs` has its results."""
    job = single_job([*command.split()[2:], f"outputs_dir={outputs}"])
    return execute(build_run(job), write_derived_tables)


def select(folder: RunFolder, table: str = "answers", **where: object) -> pd.DataFrame:
    """Return the rows of a table that have these values."""
    rows = pd.read_csv(folder.table(table)).fillna({name: "" for name in where})
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


def difference(rows: pd.DataFrame, others: pd.DataFrame, column: str) -> tuple[float, float]:
    """Return the mean of paired differences and its standard error.

    Splits share training rows, for which the error is corrected as in `bnnbench compare`.
    """
    change = rows[column].to_numpy() - others[column].to_numpy()
    shared = 0.0
    if "test_rows" in rows:
        shared = (rows["test_rows"] / (rows["test_rows"] + rows["training_rows"])).mean()
    return change.mean(), mean_error(change.std(ddof=1), len(change), shared)


def read(
    folder: RunFolder,
    before: RunFolder,
    column: str = "value",
    over: str = "",
    error: str = "",
    minus: str | dict[str, Any] = "",
    **where: Any,
) -> tuple[float, float]:
    """Return a number and its standard error, or NaN.

    With `minus`, it is the mean difference from the same rows of the run `before`, or from the rows
    with these values, in the order of splits or repetitions.

    Raises:
        ValueError: if it is not one number.
    """
    rows = select(folder, **where)
    if isinstance(minus, dict):
        return difference(rows, select(folder, **(where | minus)), column)
    if minus == BEFORE:
        return difference(rows, select(before, **where), column)
    if over:
        return rows[column].agg(over), rows[column].sem() if over == "mean" else float("nan")
    return rows[column].item(), rows[error].item() if error else float("nan")


def measure(outputs: Path, chapters: str = "2345") -> Iterator[dict[str, Any]]:
    """Run the exercises of chapters, and yield a row for each number."""
    for exercise, (own, _) in on_pages().items():
        if exercise[0] not in chapters:
            continue
        numbers, commands = declared()[exercise], {"": own}
        if BEFORE in numbers:
            commands[f"{BEFORE} "] = numbers.pop(BEFORE)
        folders = [run(command, outputs) for command in commands.values()]
        for (prefix, command), folder in zip(commands.items(), folders, strict=True):
            check_committed(folder)
            for name, where in numbers.items():
                if prefix and "minus" in where:
                    continue
                value, error = read(folder, folders[-1], **where)
                keys = {"exercise": exercise, "number": prefix + name, "command": command}
                yield keys | {"value": value, "error": error}


def exercise(exercise: str, number: str, digits: str = ".3g") -> str:
    """Return a stored number of an answer, with its standard error if it has one."""
    table = pd.read_csv(STORED, dtype={"exercise": str}).set_index(["exercise", "number"])
    stored = table.loc[(exercise, number)]
    if pd.notna(stored["error"]):
        return plus_minus(stored["value"], stored["error"])
    return format(stored["value"], digits)


if __name__ == "__main__":
    pd.DataFrame(measure(Path(sys.argv[1]))).to_csv(STORED, index=False)
