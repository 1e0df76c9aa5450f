"""What the command line prints, and where its runs went."""

from __future__ import annotations

from pathlib import Path

from bnnbench.experiment.run_folder import RunFolder

WAITING = (" ...", " so far", " left")
"""What lines end with that progress writes where there is no terminal."""

REMARK = " rows are few: "
"""What is said of every table of these tests, whatever comes of the run."""


def one_sentence(code: int, out: str, errors: str, words: list[str]) -> None:
    """Exit code 2 and a single line on standard error, which says each of the words.

    On a busy machine lines before it may say what takes so long, and how far it is; and what is
    noticed of a table is said as soon as it is read.
    """
    assert code == 2, errors
    assert out == ""
    lines = [
        line for line in errors.splitlines() if not line.endswith(WAITING) and REMARK not in line
    ]
    assert len(lines) == 1 and lines[0].startswith("bnnbench: ")
    assert "Traceback" not in errors
    for word in words:
        assert word in lines[0]


def folder_of(out: str) -> RunFolder:
    """The folder that a run names in its last line."""
    last = out.strip().splitlines()[-1]
    assert last.startswith("results: ")
    return RunFolder(Path(last.removeprefix("results: ")))
