"""Puts measured numbers into the README: `python docs/update_readme.py`.

Everything between `<!-- name -->` and `<!-- /name -->` is replaced by what lies in
`docs/results`: `session.txt` (the end of `make run`), `book_uci/results.csv` (put there by
`docs/update_results.py`) and `speed.md` (`make bench`).
"""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from bnnbench.results.tables import MISSING

DOCS = Path(__file__).parent
RESULTS = DOCS / "results"
README = DOCS.parent / "README.md"


def session() -> str:
    return f"```\n{(RESULTS / 'session.txt').read_text().rstrip()}\n```"


def with_error(mean: float, stderr: float) -> str:
    """Three decimals; some published means were printed to two, with no error left to see."""
    return f"{mean:.3f} ± {stderr:.3f}" if pd.notna(stderr) else f"{mean:.2f}"


def results() -> str:
    table = pd.read_csv(RESULTS / "book_uci" / "results.csv")
    rows = [
        {
            "data set": run["dataset"],
            "method": run["method"],
            "RMSE": with_error(run["rmse_mean"], run["rmse_stderr"]),
            "published": with_error(run["rmse_published"], run["rmse_published_stderr"]),
            "z": f"{run['rmse_z']:+.1f}" if pd.notna(run["rmse_z"]) else MISSING,
            "log-likelihood": with_error(run["log_likelihood_mean"], run["log_likelihood_stderr"]),
            "source": run["rmse_source"].split(" (")[0],
        }
        for _, run in table.sort_values(["method", "dataset"]).iterrows()
        if pd.notna(run["rmse_published"])
    ]
    return pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True)


def speed() -> str:
    return (RESULTS / "speed.md").read_text().rstrip()


def main() -> None:
    text = README.read_text()
    for block in (session, results, speed):
        name = block.__name__
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        text = pattern.sub(lambda m, b=block: f"{m[1]}\n{b()}\n\n{m[2]}", text)
    README.write_text(text)


if __name__ == "__main__":
    main()
