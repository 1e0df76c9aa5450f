"""Reconstruction errors and curves of a run, and the thesis's errors, as claims read them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bnnbench.experiment.store.answer_tables import CURVES, SCORES, Sample
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.notes import quantity
from bnnbench.results.claims.claims import NotTestable, TooFew
from bnnbench.results.claims.saved_run import SavedRun, run_reader
from bnnbench.results.compare.undecided import NO_SPREAD
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import PUBLISHED, EstimatorSetting
from bnnbench.suites.lam_density_ratio.repetitions import Repetitions

read_run = run_reader({
    SCORES: ("repetition", "latents", "mae", "largest_loss", "largest_log_ratio",
             "log_ratio_error", "moderate_error"),
    CURVES: ("repetition", "iteration", "mae", "estimator_loss", "nelbo", "largest_loss"),
})  # fmt: skip
"""Reads a run."""


@dataclass(frozen=True)
class ImageEvidence:
    """The data on which claims are checked.

    Attributes:
        errors: mean absolute errors of the reconstructions, by configuration.
        run: the run; None for the thesis, which prints no other numbers.
    """

    errors: Mapping[EstimatorSetting, Sample]
    run: SavedRun | None = None

    def error(self, *setting: Any) -> Sample:
        """Return the error of a configuration, given the fields of `EstimatorSetting`.

        Raises:
            NotTestable: if it was not run.
            TooFew: if fewer than two repetitions did not fail.
        """
        one = EstimatorSetting(*setting)
        if one not in self.errors:
            raise NotTestable("not run" if self.run else "not printed")
        sample = self.errors[one]
        if sample.size < 2:
            count = quantity(sample.size, "finished repetition")
            raise TooFew(f"{count} of {one.label}", NO_SPREAD)
        return sample

    def repetitions(self, *setting: Any) -> Repetitions:
        """Return the repetitions of a configuration, like `error`.

        Raises:
            NotTestable: if it was not run.
        """
        if self.run is None:
            raise NotTestable("not printed")
        scores, curves = (
            self.run.rows(table, unit=EstimatorSetting(*setting).unit) for table in (SCORES, CURVES)
        )
        if scores.empty:
            raise NotTestable("not run")
        return Repetitions(scores, curves)

    def finished(self, column: str, *setting: Any) -> pd.Series:
        """Return the known scores of the repetitions that did not fail, by repetition.

        Raises:
            NotTestable: if the configuration was not run.
            TooFew: if there are none.
        """
        rows = self.repetitions(*setting).finished
        values = rows.set_index("repetition")[column].dropna()
        if values.empty:
            label = EstimatorSetting(*setting).label
            raise TooFew(f"no known score of a finished repetition of {label}", NO_SPREAD)
        return values

    def finished_curves(self, column: str, setting: EstimatorSetting) -> pd.DataFrame:
        """Return a column of the curves of the repetitions that did not fail.

        Returns:
            A row per iteration, a column per repetition.

        Raises:
            NotTestable: if it was not run.
            TooFew: if all repetitions failed.
        """
        self.finished("mae", *setting)
        return self.repetitions(*setting).curves_of(column)


def evidence_of(folder: RunFolder) -> ImageEvidence:
    """Return the evidence of a run; repetitions that failed have no error."""
    run = read_run(folder)
    groups = run[SCORES].groupby([*EstimatorSetting._fields])
    errors = {EstimatorSetting(*key): Repetitions(rows).sample("mae") for key, rows in groups}
    return ImageEvidence(errors, run)


def thesis_evidence() -> ImageEvidence:
    """Return the numbers of Tables 10.1 and 10.2."""
    return ImageEvidence(PUBLISHED)
