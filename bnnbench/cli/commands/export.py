"""`bnnbench export`: writes a finished run for MLflow or Weights & Biases."""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.results.verified_run import VerifiedRun

SUMMARY = "write a finished run for MLflow or Weights & Biases"

DESCRIPTION = """\
Write the settings and scores of a finished run into a folder of another experiment tracker. Nothing
is sent anywhere. Settings become parameters, the score of split k is step k of a metric, and
metrics that end in _mean and _stderr are those over splits.
"""

EXAMPLES = """\
examples:
  bnnbench export mlflow outputs/uci/diabetes/vadam
  MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri mlruns
  bnnbench export wandb-offline outputs/uci/diabetes/vadam
  wandb sync wandb/offline-run-*
"""

EXTRAS = {"mlflow": "mlflow", "wandb-offline": "wandb"}
"""The library of each format, which is also the name of the optional extra."""

NAME = re.compile(r"[\w.+-]{1,200}")
"""Names that are written; others could be paths."""

MAX_TEXT = 500


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("format", choices=EXTRAS, help="of the other tracker")
    parser.add_argument("folder", metavar="RUN", type=Path, help="the folder of a run")
    parser.add_argument(
        "--output-dir",
        type=Path,
        help="the folder to write to (default: mlruns, or . for a new folder wandb)",
    )


def run(given: Namespace) -> int:
    """Write a run.

    Raises:
        UserError: if there is no such run, it has no splits, or the library is not installed.
    """
    from bnnbench.experiment.run_folder import find_run
    from bnnbench.results.verified_run import read_verified

    verified = read_verified(find_run(given.folder))
    if verified.splits.empty:
        raise UserError(f"{given.folder} has no scores of splits.", "RUN", "no_splits")
    write = _write_mlflow if given.format == "mlflow" else _write_wandb
    try:
        place = write(verified, given.output_dir)
    except ImportError as error:
        extra = EXTRAS[given.format]
        message = f"{error}: run `pip install 'bnnbench[{extra}]'`."
        raise UserError(message, "FORMAT", "not_installed") from None
    print(f"{given.format}: {place}")
    return 0


def _settings(run: VerifiedRun) -> dict[str, str]:
    """Return the settings of a run by dotted name."""
    from bnnbench.results.settings import flatten

    settings = flatten(run.record.identity)
    return {n: str(value)[:MAX_TEXT] for n, value in settings.items() if NAME.fullmatch(n)}


def _scores(run: VerifiedRun) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield the numbers of each split, except missing ones."""
    numbers = run.splits.select_dtypes("number").set_index("split")
    for split, row in numbers.iterrows():
        yield int(str(split)), {n: float(v) for n, v in row.dropna().items() if NAME.fullmatch(n)}


def _means(run: VerifiedRun) -> dict[str, float]:
    """Return means and standard errors over splits."""
    numbers = run.splits.select_dtypes("number").drop(columns="split")
    parts = {"mean": numbers.mean(), "stderr": numbers.sem()}
    means = {f"{name}_{k}": float(v) for k, part in parts.items() for name, v in part.items()}
    return {name: v for name, v in means.items() if v == v and NAME.fullmatch(name)}


def _write_mlflow(run: VerifiedRun, folder: Path | None) -> str:
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # needed by version 3
    from mlflow.tracking import MlflowClient

    store = (folder or Path("mlruns")).expanduser().resolve()
    store.mkdir(parents=True, exist_ok=True)
    client = MlflowClient(tracking_uri=store.as_uri())
    experiment = client.get_experiment_by_name("bnnbench")
    number = experiment.experiment_id if experiment else client.create_experiment("bnnbench")
    target = client.create_run(number, run_name=run.folder.root.name).info.run_id
    for name, value in _settings(run).items():
        client.log_param(target, name, value)
    for split, row in _scores(run):
        for name, score in row.items():
            client.log_metric(target, name, score, step=split)
    for name, score in _means(run).items():
        client.log_metric(target, name, score)
    for path in (run.folder.record, run.folder.table("splits")):
        client.log_artifact(target, str(path))
    client.set_terminated(target)
    return f"run {target} in {store}"


def _write_wandb(run: VerifiedRun, folder: Path | None) -> str:
    import wandb

    place = (folder or Path()).expanduser().resolve()
    place.mkdir(parents=True, exist_ok=True)
    target = wandb.init(
        mode="offline", project="bnnbench", dir=str(place), name=run.folder.root.name,
        config=_settings(run), settings=wandb.Settings(silent=True, console="off"),
    )  # fmt: skip
    for split, row in _scores(run):
        target.log(row, step=split)
    target.summary.update(_means(run))
    written = Path(target.dir).parent
    target.finish()
    return str(written)
