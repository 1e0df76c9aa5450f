"""From Python and a notebook: `from bnnbench import fit, load_run, predict`.

What the commands do, with pandas frames going in and coming out; errors are `UserError`s with the
sentence that the command line would print.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.experiment.run_folder import RunFolder

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Picture:
    """A figure that was drawn, which a notebook shows.

    Attributes:
        path: of its PNG.
    """

    path: Path

    def _repr_png_(self) -> bytes:
        return self.path.read_bytes()


@dataclass(frozen=True)
class FinishedRun:
    """A finished run on splits; every table is read when it is first asked for.

    Attributes:
        folder: where it lies.
    """

    folder: RunFolder

    @cached_property
    def splits(self) -> pd.DataFrame:
        """A row per split: scores, seconds, chosen hyper-parameters (`hp.*`)."""
        from bnnbench.results.run_files import read_splits

        return read_splits(self.folder)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row per metric: mean, standard deviation, standard error and number of splits."""
        from bnnbench.results.summary import summarise

        return summarise(self.splits)

    @cached_property
    def search(self) -> pd.DataFrame:
        """A row per evaluation of the search; none where nothing was searched."""
        from bnnbench.results.run_files import read_search

        return read_search(self.folder)

    @cached_property
    def predictions(self) -> pd.DataFrame | None:
        """A row per test point, in original units."""
        from bnnbench.results.run_files import read_predictions

        return read_predictions(self.folder)

    def figure(self, name: str) -> Picture:
        """A figure of the run's page: `predictions`, `search`, `splits`, `calibration`, ...

        Raises:
            UserError: if it has none of that name.
        """
        from bnnbench.types import UserError

        path = self.folder.figure(name, "png")
        if not path.is_file():
            there = ", ".join(sorted(other.stem for other in path.parent.glob("*.png")))
            raise UserError(f"this run has no figure {name!r}, but {there or 'none as PNG'}.")
        return Picture(path)

    def predict(
        self, rows: pd.DataFrame, interval: float = 0.9, calibrate: str = "none"
    ) -> pd.DataFrame:
        """New rows by the run's method, fitted to all of its data the first time.

        Args:
            rows: with the columns of the table that it was run on, in any order.
            interval: its level.
            calibrate: `none`, `isotonic` or `conformal` (see `bnnbench predict --help`).

        Returns:
            `row` (from 1), `mean`, `lower`, `upper`, `standard_deviation`, `epistemic` and `noise`
            (standard deviations), in the target's unit, under the index of `rows`.

        Raises:
            UserError: if a column is missing, or an option is wrong.
        """
        from bnnbench.checks import check_between, check_choice
        from bnnbench.cli.fitted import fitted_model
        from bnnbench.cli.predict import CALIBRATIONS, predict_frame

        check_between("interval", interval, 0, 1)
        check_choice("calibrate", calibrate, CALIBRATIONS)
        model = fitted_model(self.folder, certain=calibrate == "conformal")
        found, _ = predict_frame(model, self.folder, rows, "rows", interval, calibrate)
        return found.set_index(rows.index)


def load_run(path: str | Path) -> FinishedRun:
    """The finished run at or below a folder.

    Raises:
        UserError: if there is none, or more than one.
    """
    from bnnbench.cli.run_at import run_at

    return FinishedRun(run_at(Path(path).expanduser()))


def fit(*settings: str) -> FinishedRun:
    """Runs what `bnnbench run SETTINGS` runs, or finds it finished.

    Args:
        settings: as on the command line, `"method=vadam"`, `"dataset=boston"`.

    Raises:
        UserError: if a setting is wrong, or they make more than one run.
    """
    from bnnbench.cli.build import build
    from bnnbench.cli.line import configs_of
    from bnnbench.experiment.execution import execute
    from bnnbench.report.pages import page_writer
    from bnnbench.types import UserError

    configs = configs_of(list(settings))
    if len(configs) != 1:
        raise UserError(f"these settings make {len(configs)} runs; fit takes those of one.")
    run = build(configs[0])
    return FinishedRun(execute(run, page_writer(run), None, lambda _: None))


def predict(
    run: FinishedRun | str | Path,
    rows: pd.DataFrame,
    interval: float = 0.9,
    calibrate: str = "none",
) -> pd.DataFrame:
    """`FinishedRun.predict` of a run, or of the one at a folder."""
    found = run if isinstance(run, FinishedRun) else load_run(run)
    return found.predict(rows, interval, calibrate)
