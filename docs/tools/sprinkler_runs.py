"""The tables and claims of the density-ratio thesis on the sprinkler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from page_blocks import to_markdown, verdict_table, with_error
from stored_results import NOT_STORED, RESULTS, table

from bnnbench.experiment.answer_tables import Sample
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.report.blocks import format_z
from bnnbench.results.claims import Claim, NotTestable
from bnnbench.suites.lam_density_ratio import names
from bnnbench.suites.lam_density_ratio.comparison.claims import checked_claims
from bnnbench.suites.lam_density_ratio.comparison.evidence import SprinklerRun, evidence_of
from bnnbench.suites.lam_density_ratio.comparison.tables import SCORES
from bnnbench.suites.lam_density_ratio.comparison.thesis import (
    SCHEDULE_OF_SETTING,
    thesis_settings,
)

FOLDERS = ("lam_density_ratio", "lam_density_ratio/sprinkler")
"""Where runs are stored: the first ones, and those of Table 8.2, which take hours."""

CLAIMS, RUNS = "density_ratio_claims", "density_ratio_runs"

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


@dataclass(frozen=True)
class StoredRun(SprinklerRun):
    """A run of which means and spreads over repetitions are stored, but nothing else.

    Attributes:
        samples: mean and spread of the finished repetitions by score.
        settings_differ: deviations from the thesis in words.
    """

    samples: Mapping[str, Sample]
    settings_differ: tuple[str, ...]

    @property
    def deviating_settings(self) -> tuple[str, ...]:
        """Settings that differ from the thesis, except the number of repetitions."""
        return tuple(text for text in self.settings_differ if not text.endswith("repetitions"))

    @property
    def changed_settings(self) -> str:
        """Empty: stored runs have the settings of a schedule."""
        return ""

    def sample(self, column: str = "average_kl") -> Sample:
        """Return the stored mean and spread of a score."""
        return self.samples[column]

    @property
    def finished_curves(self) -> pd.DataFrame:
        """Raise `NotTestable`."""
        raise NotTestable(f"{NOT_STORED} curves")

    def differences(self, other: SprinklerRun) -> Sample:
        """Raise `NotTestable`."""
        raise NotTestable(f"{NOT_STORED} scores of single repetitions")


def stored_run(row: Mapping[str, object]) -> StoredRun:
    """Return the run of a row of `density_ratio_runs.csv`."""
    setting, contrast, divergence, estimator = str(row["configuration"]).split(", ")
    kinds = {title: key for key, title in (names.DIVERGENCES | names.SYMBOLS).items()}
    (iterations, *_) = thesis_settings(setting, contrast)["iterations"]
    metadata = {
        "contrast": contrast, "divergence": kinds[divergence], "estimator": kinds[estimator],
        "schedule": SCHEDULE_OF_SETTING[setting], "observations": row["observations"],
        "numerics": row["numerics"], "iterations": iterations,
    }  # fmt: skip
    size, failed, stuck = (int(str(row[name])) for name in ("repetitions", "failed", "stuck"))
    status = [names.STUCK] * stuck + [names.NOT_FINITE] * (failed - stuck)
    samples = {
        name: Sample(float(str(row[name])), float(str(row[f"{name}_std"])), size - failed)
        for name in SCORES
    }
    differ = "" if pd.isna(row["settings_differ"]) else str(row["settings_differ"])
    return StoredRun(
        str(row["run"]), metadata, RunFolder(Path()),
        pd.DataFrame({"status": [*status, *[names.OK] * (size - failed)]}), pd.DataFrame(), samples,
        tuple(filter(None, differ.split(", "))),
    )  # fmt: skip


def checked(folder: str) -> list[Claim]:
    """Check the claims on stored means and spreads."""
    runs = [stored_run(row) for row in table(folder, RUNS).to_dict("records")]
    return checked_claims(evidence_of(runs))


def claims() -> str:
    """Return the verdicts, each from the first stored runs on which the claim is judged."""
    rows, *others = (table(folder, CLAIMS).set_index("text") for folder in stored(CLAIMS))
    for further in others:
        untested = rows.index[rows["verdict"].isna()]
        rows = rows.copy()
        rows.update(further.reindex(index=untested, columns=rows.columns))
    return verdict_table(rows.reset_index())


BLOCKS: dict[str, Callable[[], str]] = {
    f"lam_table_{number}": partial(thesis_table, number) for number in ("8_1", "8_2", "9_1", "9_2")
} | {"lam_claims": claims}
"""The blocks by the name of their marks."""
