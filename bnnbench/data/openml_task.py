"""Regression tasks of OpenML with their official splits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from os.path import expanduser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from bnnbench.constraints import Checked, OneOf, Whole, check_folder
from bnnbench.data.download import unwritable
from bnnbench.data.errors import invalid
from bnnbench.data.own_table.column_issues import IMPUTE, ONEHOT, REFUSE
from bnnbench.data.own_table.columns import CATEGORIES, infer_encoding
from bnnbench.data.own_table.frame_file import FORMAT, named_by_text
from bnnbench.data.own_table.reading import MISSING
from bnnbench.data.own_table.source import OwnTable
from bnnbench.files import write_bytes
from bnnbench.identity import no_identity
from bnnbench.types import Split, Table, UserError

if TYPE_CHECKING:
    import pandas as pd

TABLE, TASK, CHECKSUMS = "table.csv", "task.json", "SHA256SUMS"


@dataclass(frozen=True)
class _Downloaded(OwnTable):
    """A table whose splits are given."""

    official: tuple[Split, ...] = ()

    def _splits(
        self, path: Path, frame: pd.DataFrame, groups: np.ndarray | None
    ) -> tuple[Split, ...]:
        return self.official


@dataclass(frozen=True)
class OpenMLTask(Checked):
    """A regression task of OpenML, downloaded on first use and verified by SHA-256 on every use.

    Its splits are numbered by repeat, then fold, then sample. Columns are encoded as by `OwnTable`.

    Attributes:
        name: part of the label, unless it is `openml`, which stands for the name at OpenML.
        task: the number of the task at OpenML.
        directory: the data folder; the task is in its folder `openml/<task>`.
        missing: how to treat missing values: `refuse`, or `impute` the mean of the training rows.
        categorical: how to treat text columns: `refuse` or `onehot`.
    """

    identity_name = "bnnbench.data.openml_task.OpenMLTask"
    name: str = no_identity("openml")
    task: Annotated[int, Whole(1)] | None = None
    directory: str = no_identity("data")
    missing: Annotated[str, OneOf(REFUSE, IMPUTE)] = REFUSE
    categorical: Annotated[str, OneOf(REFUSE, ONEHOT)] = REFUSE
    key: ClassVar[str] = "dataset"

    def check(self) -> None:
        if self.task is None:
            raise invalid("task", None, "missing; add the number of an OpenML task.")
        check_folder("data_dir", self.directory)

    def load(self) -> Table:
        """Load and verify the files, after downloading them if there are none.

        Raises:
            UserError: if the task cannot be downloaded or used, or a file is damaged.
        """
        folder = Path(expanduser(self.directory)) / "openml" / str(self.task)
        if not (folder / CHECKSUMS).is_file():
            _download(int(self.task or 0), folder)
        task = json.loads(_verified(folder)[TASK])
        label = task["name"] if self.name == "openml" else self.name
        return _Downloaded(
            name=f"{label}-{self.task}",
            path=str(folder / TABLE),
            target=task["target"],
            missing=self.missing,
            categorical=self.categorical,
            official=tuple(
                Split(index, np.array(train, np.int64), np.array(test, np.int64))
                for index, (train, test) in enumerate(task["splits"])
            ),
            **FORMAT,
        ).load()


def _verified(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files by name.

    Raises:
        UserError: if a file is missing or differs from its checksum.
    """
    try:
        lines = (folder / CHECKSUMS).read_text().splitlines()
        expected = {name: total for total, name in (line.split() for line in lines)}
        contents = {name: (folder / name).read_bytes() for name in (TABLE, TASK)}
        intact = all(hashlib.sha256(contents[k]).hexdigest() == expected[k] for k in contents)
    except (OSError, ValueError, KeyError):
        intact = False
    if not intact:
        raise UserError(
            f"a file in {folder} is missing or damaged; delete this folder to download it again.",
            "data_dir",
            "corrupt_file",
        )
    return contents


def _download(number: int, folder: Path) -> None:
    """Download a task; the checksums are written last.

    Raises:
        UserError: if `openml` is not installed, the download fails, or the task is unsuitable.
    """
    try:
        import openml
    except ImportError as error:
        raise invalid(
            "task", "not_installed", f"{error}; run `pip install 'bnnbench[openml]'`."
        ) from None
    try:
        task = openml.tasks.get_task(number, download_splits=True)
        if task.task_type_id != openml.tasks.TaskType.SUPERVISED_REGRESSION:
            raise invalid(
                "task",
                "not_regression",
                f"task {number} is not supervised regression; choose a regression task.",
            )
        dataset = task.get_dataset()
        frame = named_by_text(dataset.get_data(dataset_format="dataframe")[0])
        splits = [*_splits(task)]
    except (OSError, ValueError, openml.exceptions.PyOpenMLError) as error:
        raise invalid(
            "task", "not_downloaded", f"task {number} could not be downloaded: {error}."
        ) from None
    if frame[task.target_name].isna().any():
        raise invalid("task", "missing_target", f"task {number} has rows without a target.")
    facts = {"name": dataset.name, "target": task.target_name, "splits": splits}
    contents = {
        TABLE: _as_text(frame).to_csv(index=False, lineterminator="\n").encode(),
        TASK: json.dumps(facts).encode(),
    }
    sums = "".join(f"{hashlib.sha256(c).hexdigest()}  {name}\n" for name, c in contents.items())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in {**contents, CHECKSUMS: sums.encode()}.items():
            write_bytes(folder / name, content)
    except OSError as error:
        raise unwritable(folder, error) from None


def _splits(task: Any) -> Iterator[tuple[list[int], list[int]]]:
    """Yield the training and test rows of each split."""
    for repeat, fold, sample in np.ndindex(*task.get_split_dimensions()):
        train, test = task.get_train_test_split_indices(fold=fold, repeat=repeat, sample=sample)
        yield np.asarray(train).tolist(), np.asarray(test).tolist()


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Rename categories that a file cannot distinguish from numbers, dates or missing values."""
    frame = frame.copy()
    for name in frame.select_dtypes("category"):
        column = frame[name].cat.rename_categories(str)
        texts = column.cat.categories.to_series(name=name).astype(object)
        if infer_encoding(texts).kind != CATEGORIES or texts.isin(MISSING).any():
            column = column.cat.rename_categories(lambda text: f"level {text}")
        frame[name] = column
    return frame
