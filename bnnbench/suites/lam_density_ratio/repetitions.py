"""The repetitions of a configuration, some of which may have failed, as pages and claims read them.

This module does not import torch.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import pandas as pd

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.results.claims.saved_run import summarise
from bnnbench.suites.lam_density_ratio.names import OK


@dataclass(frozen=True)
class Repetitions:
    """Finished repetitions of one configuration.

    Attributes:
        scores: a row per repetition, with its `status`.
        curves: a row per repetition and evaluation.
    """

    scores: pd.DataFrame
    curves: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def finished(self) -> pd.DataFrame:
        """Rows of the repetitions that did not fail."""
        return self.scores[self.scores["status"] == OK]

    @property
    def failed(self) -> int:
        """Number of repetitions that failed."""
        return len(self.scores) - len(self.finished)

    @property
    def failures(self) -> str:
        """Numbers of failed repetitions by kind, `1 of 30 diverged`; empty if none failed."""
        counts = Counter(one for one in self.scores["status"] if one != OK)
        return ", ".join(f"{n} of {len(self.scores)} {kind}" for kind, n in sorted(counts.items()))

    def sample(self, column: str) -> Sample:
        """Return mean and spread of a score over the repetitions that did not fail."""
        return summarise(self.finished[column].tolist())

    @property
    def finished_curves(self) -> pd.DataFrame:
        """Rows of the curves of the repetitions that did not fail."""
        return self.curves[self.curves["repetition"].isin(self.finished["repetition"])]

    def curves_of(self, column: str) -> pd.DataFrame:
        """Return a column of the curves, by iteration and repetition that did not fail."""
        return self.finished_curves.pivot(index="iteration", columns="repetition", values=column)
