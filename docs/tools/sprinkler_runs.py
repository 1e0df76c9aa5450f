"""The tables and claims of the density-ratio thesis on the sprinkler."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from page_blocks import to_markdown, verdict_table, with_error
from stored_results import RESULTS, table

from bnnbench.report.blocks import format_z
from bnnbench.results.claims import NOT_TESTED

FOLDERS = ("lam_density_ratio", "lam_density_ratio/sprinkler")
"""Where runs are stored: the first ones, and those of Table 8.2, which take hours."""

CLAIMS = "density_ratio_claims"

OPTIMAL = (
    "bnnbench run -m experiment=sprinkler experiment.contrast=joint experiment.schedule=optimal "
    "experiment.repetitions=10 experiment."
)

SETTINGS = (
    "divergence=kl_posterior_prior,gan experiment.estimator=class_probability,ratio,log_ratio",
    "estimator=relu_ratio",
)
"""Settings of the runs of Table 8.2."""

COMMANDS = "\n".join(f"{OPTIMAL}{settings}" for settings in SETTINGS)

NOT_RUN = {"8_2": f"Not run yet (about 2.7 hours on one core):\n\n```sh\n{COMMANDS}\n```"}
"""How to make tables that may be missing."""


def stored(name: str) -> list[str]:
    """Return the folders that have a table."""
    return [folder for folder in FOLDERS if (RESULTS / folder / f"{name}.csv").exists()]


def thesis_table(number: str) -> str:
    """Return a table of the thesis next to ours, or how to make it."""
    name = f"density_ratio_table_{number}"
    if not stored(name):
        return NOT_RUN[number]
    return to_markdown(
        [
            {
                "configuration": run["configuration"],
                "repetitions": f"{run['repetitions']:g}",
                "failed": f"{run['failed']:g}",
                "ours": with_error(run["mean"], run["stderr"]),
                "thesis": with_error(run["thesis_mean"], run["thesis_stderr"]),
                "z": format_z(run["z"]),
            }
            for run in table(stored(name)[0], name).to_dict("records")
        ]
    )


def claims() -> str:
    """Return the verdicts, each from the first stored runs that test the claim."""
    rows, *others = (table(folder, CLAIMS).set_index("text") for folder in stored(CLAIMS))
    for further in others:
        untested = rows.index[rows["verdict"] == NOT_TESTED]
        rows = rows.copy()
        rows.update(further.reindex(index=untested, columns=rows.columns))
    return verdict_table(rows.reset_index())


BLOCKS: dict[str, Callable[[], str]] = {
    f"lam_table_{number}": partial(thesis_table, number) for number in ("8_1", "8_2", "9_1", "9_2")
} | {"lam_claims": claims}
"""The blocks by the name of their marks."""
