"""The thesis's six tables, the settings behind them, and the scores of exact posterior draws.

`published.csv` has means and standard deviations. For class probability estimation with the joint
contrast Table 5.1 has 1.3688 (0.0415), whereas Table 8.2, which according to the text reuses this
result, has 1.3648 (0.0242). Both are kept.

`author_repetitions.csv` has the last value of each of 30 files in github.com/Lammyy/IHateMaths,
commit 3e1f2531, `Sprinkler/part 2/<1 to 30>/PCKLgudlog truklavg.csv`: undertrained, prior contrast,
reverse KL, T, from a program with 100 draws per observation. Their mean is 1.3844, whereas
Table 9.1 prints 1.3641 for this configuration; the source of the table is unknown.

If the thesis's text and programs disagree on a setting, both count as its settings: undertrained
with the prior contrast, 100 draws per observation (programs) or 200 (text); trained to the optimum
with the joint contrast, 51 steps of the estimator (programs) or 100 (text).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.experiment.store.record import Record
from bnnbench.results.claims.saved_run import SourceSettings, summarise
from bnnbench.results.settings import format_value
from bnnbench.suites.lam_density_ratio.names import RELU_RATIO, label
from bnnbench.suites.lam_density_ratio.schedule import SCHEDULES
from bnnbench.suites.lam_density_ratio.sprinkler import OBSERVATIONS

REPETITIONS = 30
"""Repetitions of every configuration in the thesis."""

AVERAGE_KL_FLOOR = 1.3241
"""The average KL of exact posterior draws, nats; lower values are due to chance.

It is 1.3198, the mean over observations of minus the log evidence without the prior's constant,
plus the error of the kernel density with 1000 draws. The mean over more than 1000 sets of draws has
a standard error of 0.0001, and a single set a standard deviation of 0.002.
"""

EXACT_KL = 0.003
"""The nearest-neighbour KL of 20,000 exact draws per observation, nats, to 0.0002."""

MIN_NELBO = 3.85078
"""Minimum for the prior contrast, nats: the mean over observations of minus the log evidence."""

TABLES = {
    "5.1": "ReLU ratio by reverse KL, and class probability by GAN",
    "6.1": "ReLU and exponential output, reverse KL",
    "8.1": "estimators trained to the optimum, prior contrast",
    "8.2": "estimators trained to the optimum, joint contrast",
    "9.1": "undertrained estimators, prior contrast",
    "9.2": "undertrained estimators, joint contrast",
}

TABLE_NUMBERS = {
    ("optimal", "prior"): "8.1",
    ("optimal", "joint"): "8.2",
    ("undertrained", "prior"): "9.1",
    ("undertrained", "joint"): "9.2",
}
"""The table with the six configurations of each setting and contrast."""

SETTING_OF_SCHEDULE = {
    "undertrained": "undertrained",
    "published": "optimal",
    "optimal": "optimal",
}
"""The thesis's setting with which a schedule is compared and for which it is judged.

`optimal` has other step sizes than the thesis (`claims.checked_claims`).
"""

SCHEDULE_OF_SETTING = {"undertrained": "undertrained", "optimal": "published"}
"""The schedule of the thesis's programs."""

OTHER_VALUES = {
    ("optimal", "prior", "estimator_steps"): (101,),
    ("optimal", "joint", "estimator_steps"): (51, 100),
    ("undertrained", "prior", "samples"): (200,),
}
"""By setting, contrast and name, further values that count as those of the thesis."""

COMMON_SETTINGS: Mapping[str, tuple[Any, ...]] = {
    "numerics": ("published",),
    "observations": ("data",),
    "data": ([*OBSERVATIONS],),
}
"""Values that hold for every table."""

SETTING_NAMES = {
    "pretraining_steps": "pre-training steps",
    "estimator_steps": "estimator steps",
    "samples": "draws per observation",
    "estimator_rate": "estimator rate",
    "posterior_rate": "posterior rate",
    "decay_from": "rates fall from fraction",
}


@dataclass(frozen=True, order=True)
class ThesisCell:
    """One configuration of the thesis, a row of its tables.

    Attributes:
        setting: `optimal` or `undertrained`.
        contrast: a key of `CONTRASTS`.
        divergence: a key of `DIVERGENCES`.
        estimator: a key of `SYMBOLS`.
    """

    setting: str
    contrast: str
    divergence: str
    estimator: str

    @property
    def name(self) -> str:
        """Name in tables and claims: `prior, reverse KL, T`."""
        return f"{self.contrast}, {label(self.divergence, self.estimator)}"


@cache
def printed_tables() -> Mapping[str, Mapping[ThesisCell, Sample]]:
    """Return the six tables by number, with rows in printed order."""
    rows = pd.read_csv(str(files(__package__) / "published.csv"), dtype={"table": str})
    tables: dict[str, dict[ThesisCell, Sample]] = {name: {} for name in TABLES}
    for row in rows.to_dict("records"):
        estimator = RELU_RATIO if row["output"] == "relu" else row["estimator"]
        cell = ThesisCell(row["setting"], row["contrast"], row["divergence"], estimator)
        tables[row["table"]][cell] = Sample(row["mean"], row["std"], REPETITIONS)
    # Table 6.1 repeats the rows of Table 5.1 for the ReLU.
    relus = {cell: sample for cell, sample in tables["5.1"].items() if cell.estimator == RELU_RATIO}
    both = {**relus, **tables["6.1"]}
    tables["6.1"] = {cell: both[cell] for cell in sorted(both, key=lambda c: c.contrast == "joint")}
    return tables


def published_values() -> Mapping[ThesisCell, Sample]:
    """Return every configuration once; later tables take precedence."""
    return {cell: sample for table in printed_tables().values() for cell, sample in table.items()}


@cache
def author_repetitions() -> Mapping[ThesisCell, Sample]:
    """Return mean and spread of the author's own repetitions by configuration."""
    rows = pd.read_csv(str(files(__package__) / "author_repetitions.csv"))
    groups = rows.groupby(["setting", "contrast", "divergence", "estimator"])["average_kl"]
    return {ThesisCell(*map(str, key)): summarise(values.tolist()) for key, values in groups}


def exact_scores(metadata: Mapping[str, Any]) -> dict[str, float]:
    """Return the scores of exact posterior draws by measure; NaN if unknown for a run's data.

    With the joint contrast the NELBO is the divergence of the observations' distribution from the
    model's: zero if they are drawn from the model, infinite for atoms.
    """
    known = tuple(metadata["data"]) == OBSERVATIONS
    floor = AVERAGE_KL_FLOOR if known else math.nan
    nelbo = MIN_NELBO if known else math.nan
    if metadata["contrast"] == "joint":
        nelbo = 0.0 if metadata["observations"] == "model" else math.inf
    return {"average_kl": floor, "kl": EXACT_KL, "nelbo": nelbo}


def thesis_settings(setting: str, contrast: str) -> dict[str, tuple[Any, ...]]:
    """Return the values that count as those of the thesis, that of its programs first."""
    schedule = SCHEDULES[SCHEDULE_OF_SETTING[setting]][contrast]
    own = {
        name: (value, *OTHER_VALUES.get((setting, contrast, name), ()))
        for name, value in schedule.items()
        if name not in ("evaluate_every", "repetitions")
    }
    return {**COMMON_SETTINGS, **own}


def settings_of_thesis(record: Record) -> dict[str, Any]:
    """Return the settings of a run as far as they count as the thesis's, and its own otherwise.

    Those of a run count if the thesis, or the run's schedule, has them. Trained to the optimum, the
    stable form of the losses counts too, since the optimum is the same (9.1.2).
    """
    run, found = record.metadata, {}
    setting = SETTING_OF_SCHEDULE[run["schedule"]]
    schedule = SCHEDULES[run["schedule"]][run["contrast"]]
    for name, values in thesis_settings(setting, run["contrast"]).items():
        wanted = schedule.get(name, values[0])
        counts = run[name] in (*values, wanted) or (name, setting) == ("numerics", "optimal")
        found[name] = run[name] if counts else wanted
    return found


SETTINGS = SourceSettings(free=("contrast", "divergence", "estimator"), chosen=settings_of_thesis)
"""The settings that claims of the thesis need."""


def deviating_settings(metadata: Mapping[str, Any], setting: str) -> Iterator[str]:
    """Yield every setting of a run that differs from the thesis, such as `iterations 4000`."""
    for name, values in thesis_settings(setting, metadata["contrast"]).items():
        actual = metadata[name]
        if actual not in values:
            value = tuple(actual) if isinstance(actual, list) else actual
            yield f"{SETTING_NAMES.get(name, name)} {format_value(value)}"
