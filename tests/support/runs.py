"""Finished runs on splits that nobody trained: folders whose numbers can be checked by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.record import Record, write_record
from bnnbench.experiment.run_folder import RunFolder
from bnnbench.experiment.split_files import KIND, PREDICTIONS, SEARCH, SPLITS
from bnnbench.files import checksum
from bnnbench.results.published_protocol import OPEN, SOURCES, protocol_of

RMSE = (3.0, 4.0, 5.0, 8.0)
"""Mean 5, squared deviations 4 + 1 + 0 + 9: std sqrt(14 / 3), standard error sqrt(14 / 12)."""

LOG_LIKELIHOOD = (-2.0, -2.5, -3.0, -2.5)

NAMES: Mapping[str, Any] = {
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
    "made": False,
    "training_part": False,
    "target": "median value [1000 USD]",
    "initial_points": 3,
}
"""In the record of a run, but for the changes."""

COLUMNS = ("experiment", "dataset", "method", "divergence", "likelihood", "loss", "depth", "seed")
"""Names that stand in every row of `splits.csv`."""


def names_of(**changes: Any) -> dict[str, Any]:
    """`NAMES` with some changes; the family of `vadam` is `vadam`, that of `bbb_x1` is `bbb`."""
    method = str(changes.get("method", NAMES["method"]))
    stem = changes.get("divergence", NAMES["divergence"])
    follow = {"family": method.partition("_x")[0], "divergence_family": stem}
    return {**NAMES, **follow, **changes}


def of_order(family: str, order: float | None = None, weight: float = 1.0) -> dict[str, Any]:
    """The names of a divergence."""
    end = "" if weight == 1 else f"_w{weight:g}"
    middle = "" if order is None else f"_{order:g}"
    stems = {"divergence": f"{family}{middle}{end}", "divergence_family": f"{family}{end}"}
    return {**stems, "order": order, "weight": weight}


def make_splits(**changes: Any) -> pd.DataFrame:
    """The rows of `splits.csv` of a run on four splits; one value stands for all of them."""
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
    names = names_of(**{k: v for k, v in changes.items() if k in NAMES})
    own = {name: names[name] for name in COLUMNS}
    return pd.DataFrame({**own, **scores, **{k: v for k, v in changes.items() if k not in NAMES}})


EPOCHS = {"gvi_uci": 100, "gvi_alpha": 100, "gp_toy": 500}
"""Of experiments that do not follow the published protocol."""


def identity_by(names: Mapping[str, Any], **settings: Any) -> dict[str, Any]:
    """The identity of a run that follows its experiment's protocol, but for some settings.

    Args:
        names: of its record.
        settings: by dotted name with two strokes for the dot: `training__epochs`.
    """
    epochs = ("training.epochs", "training.final_epochs")
    found: dict[str, Any] = {
        "label": names["experiment"],
        "dataset.class": "Synthetic" if names["made"] else SOURCES[0],
        "dataset.name": names["dataset"],
        "method.label": names["method"],
        **OPEN,
        **{{"search": "search.label", "likelihood": "likelihood.label"}.get(name, name): value
           for name, value in protocol_of(names).items()},
        **(dict.fromkeys(epochs, EPOCHS[own]) if (own := names["experiment"]) in EPOCHS else {}),
        "likelihood.label": names["likelihood"],
        "likelihood.loss": names["loss"],
        "network.depth": names["depth"],
        "training.samples": 10,
        "seed": names["seed"],
        **{name.replace("__", "."): value for name, value in settings.items()},
    }  # fmt: skip
    nested: dict[str, Any] = {}
    for name, value in found.items():
        *above, last = name.split(".")
        place = nested
        for part in above:
            place = place.setdefault(part, {})
        place[last] = value
    return nested


def repeated(splits: pd.DataFrame, times: int) -> pd.DataFrame:
    """The same scores again and again, on further splits."""
    many = pd.concat([splits] * times, ignore_index=True)
    return many.assign(split=range(len(many)))


def make_search() -> pd.DataFrame:
    """The rows of `search.csv`: four splits of six evaluations; the third of each diverged."""
    generator = np.random.default_rng(0)
    rows = pd.MultiIndex.from_product([range(4), range(6)], names=["split", "iteration"])
    search = rows.to_frame(index=False)
    search["hp.noise_precision"] = np.exp(generator.uniform(0, 5, len(search)))
    search["hp.prior_precision"] = np.exp(generator.uniform(-4, 4, len(search)))
    search["objective"] = generator.normal(-3, 1, len(search))
    search.loc[search["iteration"] == 2, "objective"] = np.nan
    return search


def make_points() -> dict[str, np.ndarray]:
    """The arrays of `predictions.npz`: ten test points of each of four splits."""
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
    """A finished run with its record and its scores.

    Args:
        outputs: the folder of all runs.
        variant: the name of its folder.
        times: how often its scores are repeated, on further splits.
        settings: in which it differs from the published protocol, as for `identity_by`.
        changes: names of the record, and columns of `splits.csv`.
    """
    changes = {"training_part": "train_log_likelihood" in changes, **changes}
    names = names_of(**{k: v for k, v in changes.items() if k in NAMES})
    identity = identity_by(names, **(settings or {}))
    splits = repeated(make_splits(**changes), times)
    if "fingerprint" not in changes:
        splits["fingerprint"] = [f"{names['dataset']}-{split}" for split in splits["split"]]
    units = [f"split-{split:02d}" for split in splits["split"]]
    folder = make_folder(outputs, names, variant, KIND, identity, units)
    splits.to_csv(folder.table(SPLITS), index=False)
    return folder


def make_folder(
    outputs: Path,
    names: Mapping[str, Any],
    variant: str,
    kind: str,
    identity: Mapping[str, Any] | None = None,
    units: Sequence[str] = (),
) -> RunFolder:
    """A finished run of any kind that has nothing but its record."""
    place = (str(names["experiment"]), str(names["dataset"]), str(names["method"]), variant)
    folder = RunFolder(outputs.joinpath(*place))
    folder.root.mkdir(parents=True)
    digest = hashlib.sha256("/".join(place).encode()).hexdigest()[:8]
    write_record(folder, Record(kind, digest, names, identity or {}))
    mark = {"finished": "2026-11-21T14:03:00+00:00", "units": list(units), "files": {}}
    folder.done.write_text(json.dumps(mark))
    return folder


def seal(folder: RunFolder, *files: str) -> None:
    """Writes the checksums of some files into the mark of a finished run."""
    mark = json.loads(folder.done.read_text())
    mark["files"] = {name: checksum((folder.root / name).read_bytes()) for name in files}
    folder.done.write_text(json.dumps(mark))


def unseal(folder: RunFolder) -> None:
    """Makes the mark one of an earlier version, which knows no checksums."""
    mark = json.loads(folder.done.read_text())
    del mark["files"]
    folder.done.write_text(json.dumps(mark))


def add_search(folder: RunFolder) -> None:
    """Writes `make_search` into a run."""
    make_search().to_csv(folder.table(SEARCH), index=False)


def add_arrays(
    folder: RunFolder, name: str = PREDICTIONS, arrays: Mapping[str, Any] | None = None
) -> None:
    """Writes flat arrays into a run, by default the test points of `make_points`."""
    np.savez(folder.arrays(name), **(make_points() if arrays is None else arrays))
