"""Every file a run writes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bnnbench.types import UserError


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run: `outputs/<experiment>/<dataset>/<method label>/<variant>`.

    `variant` ends in a digest of every setting that can change a number, so different settings
    never meet in one folder and the same command always finds its own.
    """

    root: Path

    @classmethod
    def of(
        cls, outputs: Path, experiment: str, dataset: str, label: str, variant: str
    ) -> RunFolder:
        return cls(outputs / experiment / dataset / label / variant)

    @property
    def config(self) -> Path:
        return self.root / "config.yaml"

    @property
    def environment(self) -> Path:
        return self.root / "environment.json"

    @property
    def splits(self) -> Path:
        return self.root / "splits.csv"

    @property
    def search(self) -> Path:
        return self.root / "search.csv"

    @property
    def summary(self) -> Path:
        return self.root / "summary.csv"

    @property
    def calibration(self) -> Path:
        return self.root / "calibration.csv"

    @property
    def predictions(self) -> Path:
        return self.root / "predictions.npz"

    @property
    def out_of_fold(self) -> Path:
        """Predictions of the training rows, each by networks that have not seen it."""
        return self.root / "out_of_fold.npz"

    @property
    def training(self) -> Path:
        """Predictions of the rows trained on; only with `evaluation.training_part`."""
        return self.root / "training.npz"

    @property
    def objective(self) -> Path:
        """The objective by split and epoch; only with `evaluation.trace`."""
        return self.root / "objective.npz"

    @property
    def posterior(self) -> Path:
        """Learned and exact posteriors of a line; only `experiment=linear_regression` has it."""
        return self.root / "posterior.csv"

    @property
    def points(self) -> Path:
        """The data points that such a line was fitted to."""
        return self.root / "points.csv"

    @property
    def done(self) -> Path:
        """Written last: the run is complete."""
        return self.root / "DONE"

    @property
    def lock(self) -> Path:
        return self.root / "work" / "run.lock"

    def figure(self, name: str, suffix: str) -> Path:
        """`figures/<name>.<suffix>`, suffix `png` or `pdf`."""
        return self.root / "figures" / f"{name}.{suffix}"

    def journal(self, split: int) -> Path:
        """One JSON line per finished search evaluation of a split."""
        return self.root / "work" / f"split-{split:02d}.search.jsonl"

    def scores(self, split: int) -> Path:
        """The finished split's row of `splits.csv`; written after its predictions."""
        return self.root / "work" / f"split-{split:02d}.json"

    def split_predictions(self, split: int) -> Path:
        return self.root / "work" / f"split-{split:02d}.npz"

    def split_out_of_fold(self, split: int) -> Path:
        return self.root / "work" / f"split-{split:02d}.folds.npz"

    def split_training(self, split: int) -> Path:
        return self.root / "work" / f"split-{split:02d}.training.npz"

    def split_objective(self, split: int) -> Path:
        return self.root / "work" / f"split-{split:02d}.objective.npz"

    def split_lock(self, split: int) -> Path:
        return self.root / "work" / f"split-{split:02d}.lock"

    def create(self) -> None:
        """Makes the folder.

        Raises:
            UserError: if it cannot be written to.
        """
        try:
            self.lock.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.root):
                pass
        except OSError as error:
            raise UserError(
                f"outputs_dir: cannot write to {self.root} ({error.strerror}); "
                "choose a writable folder with outputs_dir=DIR."
            ) from None


def finished_runs(path: Path) -> Iterator[RunFolder]:
    """Every complete run at or below `path`, in path order."""
    for done in sorted(path.rglob("DONE")):
        yield RunFolder(done.parent)
