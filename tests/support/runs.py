"""Folders of finished runs with synthetic scores that can be checked by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.store.record import Record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.experiment.store.split_files import KIND, PREDICTIONS, SEARCH, SPLITS
from bnnbench.files import checksum
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.results.published.protocol import DATASET_CLASSES, UNSET_SETTINGS, protocol_settings

RMSE = (3.0, 4.0, 5.0, 8.0)
"""Mean 5, standard deviation sqrt(14 / 3), standard error sqrt(14 / 12)."""

LOG_LIKELIHOOD = (-2.0, -2.5, -3.0, -2.5)

METADATA: Mapping[str, Any] = {
    "experiment": "uci",
    "dataset": "boston",
    "method": "bbb_x1",
    "family": "bbb",
    "divergence": "kl",
    "divergence_family": "kl",
    "order": None,
    "weight": 1.0,
    "likelihood": "gaussian",
    "loss": "nll",
    "depth": 1,
    "width": [50],
    "final_epochs": 40,
    "seed": 7,
    "inputs": 13,
    "synthetic": False,
    "score_training_rows": False,
    "target": "median value [1000 USD]",
    "initial_points": 3,
}
"""Default metadata of a run."""

COLUMNS = ("experiment", "dataset", "method", "divergence", "likelihood", "loss", "depth", "seed")
"""Metadata in every row of `splits.csv`."""


def metadata_of(**changes: Any) -> dict[str, Any]:
    """Return `METADATA` with changes; the family of `bbb_x1` is `bbb`."""
    method = str(changes.get("method", METADATA["method"]))
    stem = changes.get("divergence", METADATA["divergence"])
    follow = {"family": method.partition("_x")[0], "divergence_family": stem}
    return {**METADATA, **follow, **changes}


def divergence_metadata(
    family: str, order: float | None = None, weight: float = 1.0
) -> dict[str, Any]:
    """Return the metadata of a divergence."""
    end = "" if weight == 1 else f"_weight_{weight:g}"
    middle = "" if order is None else f"_{order:g}"
    stems = {"divergence": f"{family}{middle}{end}", "divergence_family": f"{family}{end}"}
    return {**stems, "order": order, "weight": weight}


def make_splits(**changes: Any) -> pd.DataFrame:
    """Return the rows of `splits.csv` of a run on four splits; scalars are repeated."""
    scores = {
        "split": range(4),
        "rmse": RMSE,
        "log_likelihood": LOG_LIKELIHOOD,
        "log_likelihood_joint": np.array(LOG_LIKELIHOOD) - 0.1,
        "log_likelihood_gaussian": LOG_LIKELIHOOD,
        "crps": 1.5,
        "training_rows": 455,
        "test_rows": 51,
        "search_seconds": 90.0,
        "fit_seconds": 8.0,
        "predict_seconds": 2.0,
        "total_seconds": 100.0,
        "diverged": 0,
        "at_bound": ["noise_precision", "", "noise_precision", "noise_precision prior_precision"],
        "hp.noise_precision": 10.0,
        "hp.prior_precision": 1.0,
    }
    metadata = metadata_of(**{k: v for k, v in changes.items() if k in METADATA})
    own = {name: metadata[name] for name in COLUMNS}
    return pd.DataFrame(
        {**own, **scores, **{k: v for k, v in changes.items() if k not in METADATA}}
    )


EPOCHS = {"gvi_uci": 100, "gvi_alpha": 100, "gp_toy": 500}
"""Epochs of experiments that do not follow the published protocol."""


def identity_for(metadata: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """Return the identity of a run that follows its experiment's protocol, except some settings.

    Args:
        metadata: metadata in its record.
        settings: values by name, with two underscores instead of a dot: `training__epochs`.
    """
    epochs = ("training.epochs", "training.final_epochs")
    like = {**metadata, "dataset": "boston"} if metadata["synthetic"] else metadata
    found: dict[str, Any] = {
        "label": metadata["experiment"],
        "dataset.class": "Synthetic" if metadata["synthetic"] else DATASET_CLASSES[0],
        "dataset.name": metadata["dataset"],
        "method.label": metadata["method"],
        **UNSET_SETTINGS,
        **{{"search": "search.label", "likelihood": "likelihood.label"}.get(name, name): value
           for name, value in protocol_settings(like).items()},
        **(dict.fromkeys(epochs, EPOCHS[own]) if (own := metadata["experiment"]) in EPOCHS else {}),
        "likelihood.label": metadata["likelihood"],
        "likelihood.loss": metadata["loss"],
        "network.depth": metadata["depth"],
        "training.samples": 10,
        "seed": metadata["seed"],
        **{name.replace("__", "."): value for name, value in settings.items()},
    }  # fmt: skip
    nested: dict[str, Any] = {}
    for name, value in found.items():
        *parents, last = name.split(".")
        inner = nested
        for part in parents:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def repeat_splits(splits: pd.DataFrame, times: int) -> pd.DataFrame:
    """Repeat the scores on further splits."""
    many = pd.concat([splits] * times, ignore_index=True)
    return many.assign(split=range(len(many)))


def make_search() -> pd.DataFrame:
    """Return the rows of `search.csv`: four splits with six evaluations; the third diverged."""
    generator = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([range(4), range(6)], names=["split", "iteration"])
    search = rows.to_frame(index=False)
    search["hp.noise_precision"] = np.exp(generator.uniform(0, 5, len(search)))
    search["hp.prior_precision"] = np.exp(generator.uniform(-4, 4, len(search)))
    search["objective"] = generator.normal(-3, 1, len(search))
    search.loc[search["iteration"] == 2, "objective"] = np.nan
    return search


def make_points() -> dict[str, np.ndarray]:
    """Return the arrays of `predictions.npz`: ten test points for each of four splits."""
    generator = np.random.default_rng(1)
    target = generator.normal(22, 9, 40)
    return {
        "split": np.repeat(range(4), 10),
        "row": np.arange(40),
        "target": target,
        "mean": target + generator.normal(0, 3, 40),
        "epistemic_variance": np.full(40, 1.0),
        "noise_variance": np.full(40, 8.0),
    }


def make_run(
    outputs: Path,
    variant: str = "v1",
    times: int = 1,
    settings: Mapping[str, Any] | None = None,
    **changes: Any,
) -> RunFolder:
    """Write a finished run with its record and its scores.

    Args:
        outputs: folder of all runs.
        variant: name of its folder.
        times: how often its scores are repeated, on further splits.
        settings: deviations from the published protocol, as in `identity_for`.
        changes: metadata, and columns of `splits.csv`.
    """
    changes = {"score_training_rows": "train_log_likelihood" in changes, **changes}
    metadata = metadata_of(**{k: v for k, v in changes.items() if k in METADATA})
    identity = identity_for(metadata, **(settings or {}))
    splits = repeat_splits(make_splits(**changes), times)
    if "fingerprint" not in changes:
        splits["fingerprint"] = [f"{metadata['dataset']}-{split}" for split in splits["split"]]
    splits["training_fingerprint"] = [f"not-{test}" for test in splits["fingerprint"]]
    splits["bits"] = "program"
    units = [f"split-{split:02d}" for split in splits["split"]]
    folder = make_folder(outputs, metadata, variant, KIND, identity, units)
    splits.to_csv(folder.table(SPLITS), index=False)
    return folder


def lose_splits(folder: RunFolder, kept: int = 20, diverged: int = 0) -> None:
    """Keep the first splits of a run only, and let the first of these diverge."""
    table = pd.read_csv(folder.table(SPLITS)).iloc[:kept]
    lost = table.index < diverged
    scores = ["rmse", "log_likelihood", "log_likelihood_joint", "log_likelihood_gaussian", "crps"]
    table.loc[lost, scores] = np.nan
    table.assign(diverged=lost.astype(int)).to_csv(folder.table(SPLITS), index=False)


LOST: Mapping[str, Mapping[str, int]] = {
    "three of twenty splits": {"kept": 3},
    "nineteen of twenty splits": {"kept": 19},
    "seventeen diverged splits": {"diverged": 17},
    "one diverged split": {"diverged": 1},
    "every split diverged": {"diverged": 20},
}
"""What `lose_splits` does to a run on twenty splits that is then not the best."""


def make_folder(
    outputs: Path,
    metadata: Mapping[str, Any],
    variant: str,
    kind: str,
    identity: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
) -> RunFolder:
    """Write a finished run of any kind that contains only its record."""
    parts = (
        str(metadata["experiment"]),
        str(metadata["dataset"]),
        str(metadata["method"]),
        variant,
    )
    folder = RunFolder(outputs.joinpath(*parts))
    folder.root.mkdir(parents=True)
    digest = hashlib.sha256("/".join(parts).encode()).hexdigest()[:8]
    write_record(folder, Record(kind, digest, metadata, identity or {}))
    mark = {"finished": "2026-11-21T14:03:00+00:00", "units": list(units), "files": {}}
    folder.done.write_text(json.dumps(mark))
    return folder


def add_checksums(folder: RunFolder, *files: str) -> None:
    """Write the checksums of some files into the mark of a finished run."""
    mark = json.loads(folder.done.read_text())
    mark["files"] = {name: checksum((folder.root / name).read_bytes()) for name in files}
    folder.done.write_text(json.dumps(mark))


def add_search(folder: RunFolder) -> None:
    """Write `make_search` into a run."""
    make_search().to_csv(folder.table(SEARCH), index=False)


def add_arrays(
    folder: RunFolder, name: str = PREDICTIONS, arrays: Mapping[str, Any] | None = None
) -> None:
    """Write flat arrays into a run, by default the test points of `make_points`."""
    np.savez(folder.arrays(name), **(make_points() if arrays is None else arrays))


def with_columns(run: SavedRun, table: str, **columns: Any) -> SavedRun:
    """Return a copy of a read run with other columns in one table."""
    return replace(run, tables={**run.tables, table: run[table].assign(**columns)})
