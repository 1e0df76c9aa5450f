"""The measured gap of the bound of log p(x): a table, and a sentence for differences of models.

`bound_gap.py` measures it: bounds of the same models on the same images with more draws.
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
from page_blocks import to_markdown
from stored_results import RESULTS

from bnnbench.notes import join_words
from bnnbench.report.blocks import plus_minus
from bnnbench.suites.latent_models.published import SETTINGS

COMMAND = "python docs/tools/bound_gap.py"

DRAWS: int = SETTINGS["planar_flows"]["importance_samples"]
"""Draws of the stored runs."""


def measured() -> pd.DataFrame:
    """Return the bounds on MNIST by model and number of draws; empty if they are not stored."""
    path = RESULTS / "images" / "bound_gap" / "mnist.csv"
    return pd.read_csv(path) if path.exists() else pd.DataFrame()


def bound_gap() -> str:
    """Return the bound by number of draws and the gap of `DRAWS` draws, with a row per model."""
    rows = measured()
    if rows.empty:
        return f"Not measured yet:\n\n```sh\n{COMMAND}\n```"
    cells = []
    for (model, setting, repetition), own in rows.groupby(
        ["model", "setting", "repetition"], sort=False
    ):
        (fewest,) = own[own["draws"] == DRAWS].to_dict("records")
        bounds = own.sort_values("draws")[["draws", "bound"]].to_numpy()
        cells.append(
            {"model": model, "setting": setting, "repetition": f"{repetition}"}
            | {f"bound with {draws:,.0f} draws": f"{bound:.2f}" for draws, bound in bounds}
            | {f"gap of {DRAWS:,} draws": plus_minus(fewest["gap"], fewest["gap_error"])}
        )
    caption = (
        f"*Bounds of log p(x): means over {rows['images'].max():,} test images of MNIST after "
        f"{rows['epochs'].max()} epochs, nats. Gap: the bound with {rows['draws'].max():,} draws "
        f"minus that with {DRAWS:,}, ± its standard error over images. The gap to log p(x) is "
        "larger, by an unknown amount.*"
    )
    return "\n\n".join([to_markdown(cells), caption, gap_sentence()])


def gap_sentence() -> str:
    """Say what is compared instead of log p(x), and how far below it is, as far as measured."""
    rows, start = measured(), f"We compare bounds of log p(x) with {DRAWS:,} draws."
    if rows.empty:
        return f"{start} How far they rise with more draws is not measured yet: `{COMMAND}`."
    own = rows[rows["draws"] == DRAWS]
    low, high = own["gap"].agg(["min", "max"])
    models = join_words(f"{row['model']} {row['setting']}" for row in own.to_dict("records"))
    several = len(own) > 1
    between = f"{low:.2f} to {high:.2f}" if several else f"{low:.2f}"
    error = f"{own['gap_error'].max():.2f}"
    text = (
        f"{start} On MNIST, they lie {between} nats "
        f"({f'each ± {error} or less' if several else f'± {error}'}) below those with "
        f"{rows['draws'].max():,} draws, on {own['images'].max():,} test images for {models}."
    )
    if several:
        text += (
            " More draws thus change the differences between these models by up to "
            f"{high - low:.2f} nats."
        )
    return f"{text} The gaps of other models were not measured."


def with_gap(block: Callable[[], str]) -> Callable[[], str]:
    """Return a block of differences between models, followed by the sentence about the gap."""
    return lambda: f"{block()}\n\n{gap_sentence()}"


BLOCKS: dict[str, Callable[[], str]] = {"bound_gap": bound_gap}
"""The block by the name of its marks, as in `page_blocks`."""
