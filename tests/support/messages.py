"""Complete error messages of the command line, stored in `tests/messages.json`.

After an intended change of a message, run `python -m support.messages` in `tests`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from support.command import PROGRESS

MESSAGES = Path(__file__).parents[1] / "messages.json"

TABLE = ("dataset=csv", "dataset.path=table.csv", "dataset.target=y")

COMMANDS: dict[str, tuple[str, ...]] = {
    "unknown method": ("run", "method=vadm"),
    "unknown setting": ("run", "training.epoch=3"),
    "value of the wrong type": ("run", *TABLE, "training.epochs=many"),
    "several values without -m": ("run", "splits=0,3"),
    "incompatible components": ("run", *TABLE, "method=map", "divergence=js"),
    "missing data file": ("run", "dataset=csv", "dataset.path=missing.csv", "dataset.target=y"),
    "unknown target": ("recommend", "table.csv", "--target", "z"),
    "text in a table": ("run", "dataset=csv", "dataset.path=text.csv", "dataset.target=y"),
    "unknown option": ("report", "--open-it"),
    "missing option": ("recommend", "table.csv"),
    "options that exclude each other": ("report", "--style", "paper", "--refresh"),
    "number out of range": ("compare", "--rope", "-1"),
    "missing folder": ("report", "nowhere"),
    "unknown suite": ("reproduce", "nothing"),
}
"""Commands by the kind of mistake."""


def write_tables(folder: Path) -> None:
    """Write the tables that the commands read: a valid one and one with text among numbers."""
    rows = [f"{k},{k * k % 7},{k * k % 11}" for k in range(20)]
    (folder / "table.csv").write_text("\n".join(["a,b,y", *rows]))
    (folder / "text.csv").write_text("\n".join(["a,b,y", *rows, "1,x,2"]))


def without_progress(errors: str) -> list[str]:
    """The lines of standard error without progress, which depends on the speed of the machine."""
    return [line for line in errors.splitlines() if not line.endswith(PROGRESS)]


def main() -> None:
    """Run the commands and store what they write to standard error."""
    messages = {}
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        for name, arguments in COMMANDS.items():
            words = [sys.executable, "-m", "bnnbench", *arguments]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            messages[name] = {
                "command": " ".join(("bnnbench", *arguments)),
                "stderr": without_progress(done.stderr),
            }
    MESSAGES.write_text(json.dumps(messages, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
