"""Thinned reference mixtures in files, and distances of other programs' predictions to them.

A reference is an `.npz` file without pickled objects. `split`, `row` `[M]`, `loc` `[M, S]` and
`noise` `[M, 1]` (float32) are those of a run's `mixture.npz`, thinned to S draws, evenly over the
chains. `center` and `scale`, with an entry for each of the K `splits`, convert original units to
standardised ones; `r_hat`, `bulk_ess` and `tail_ess` `[K]` are diagnostics at 99 % of the points of
a split. `about` is a JSON text: data set, precisions, licence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnnbench.experiment.run_folder import RunFolder
from bnnbench.files import READ_ERRORS, check_archive, raise_disk_error, sha256, write_atomically
from bnnbench.results.mixtures import Mixture, StoredMixtures, read_mixtures
from bnnbench.results.predictive_distances import quantiles
from bnnbench.results.run_files import read_predictions
from bnnbench.suites.gold_standard.comparison import distances
from bnnbench.types import UserError

FOLDER = Path(__file__).with_name("references")
"""The shipped references, `DATASET.npz`, and their SHA-256 in `checksums.txt`."""

DIAGNOSTICS = ("r_hat", "bulk_ess", "tail_ess")

LICENCE = "CC BY 4.0"


@dataclass(frozen=True)
class Reference:
    """A reference for one data set.

    Attributes:
        stored: thinned mixtures of the chains, standardised units.
        splits: a row per split: `center`, `scale` and the diagnostics; indexed by split.
        about: data set, precisions, licence.
    """

    stored: StoredMixtures
    splits: pd.DataFrame
    about: Mapping[str, Any]


def thin(
    folder: RunFolder, splits: pd.DataFrame, about: Mapping[str, Any], draws: int
) -> Reference:
    """Make a reference from the mixtures of a finished run of HMC.

    Args:
        folder: of the run.
        splits: its table of splits.
        about: facts to store.
        draws: number of draws to keep.
    """
    stored, points = read_mixtures(folder), read_predictions(folder)
    assert points is not None
    step = np.linspace(0, stored.mixture.components - 1, draws).round().astype(int)
    mixture, rows = stored.mixture, []
    thinned = Mixture(mixture.loc[:, step], mixture.epistemic, mixture.noise)
    for split, own in points.groupby("split"):
        at = stored.split == split
        scale = np.sqrt(own["noise_variance"].to_numpy() / mixture.noise[at, 0]).mean()
        center = (own["mean"].to_numpy() - scale * mixture.loc[at].mean(1)).mean()
        of_split = splits.set_index("split").loc[split]
        diagnostics = {name: of_split[f"diag.{name}"] for name in DIAGNOSTICS}
        rows.append({"split": split, "center": center, "scale": scale, **diagnostics})
    return Reference(
        replace(stored, mixture=thinned), pd.DataFrame(rows).set_index("split"),
        {**about, "licence": LICENCE},
    )  # fmt: skip


def write_reference(path: Path, reference: Reference) -> None:
    """Write a reference."""
    stored = reference.stored
    arrays = {
        "split": stored.split.astype(np.int32),
        "row": stored.row.astype(np.int32),
        "loc": stored.mixture.loc.astype(np.float32),
        "noise": stored.mixture.noise.astype(np.float32),
        "splits": reference.splits.index.to_numpy(np.int32),
        "about": np.array(json.dumps(dict(reference.about))),
        **{name: reference.splits[name].to_numpy(float) for name in reference.splits},
    }
    write_atomically(path, lambda file: np.savez_compressed(file, **arrays))


def read_reference(name: str) -> Reference:
    """Read a shipped reference, by the name of its data set, or a file.

    Raises:
        UserError: if there is no such reference, or it is damaged.
    """
    shipped = FOLDER / f"{name}.npz"
    path = shipped if shipped.is_file() else Path(name).expanduser()
    if path == shipped:
        expected = dict(line.split()[::-1] for line in _checksums().splitlines())[shipped.name]
        if sha256(shipped) != expected:
            raise _unreadable(path, "does not match its checksum", "checksum")
    elif not path.is_file():
        known = ", ".join(sorted(file.stem for file in FOLDER.glob("*.npz")))
        raise UserError(
            f"there is no reference {name!r}; give one of {known}, or a file.",
            "reference",
            "unknown",
        )
    arrays = _arrays(path, ("split", "row", "loc", "noise", "splits", "center", "scale", "about"))
    try:
        about = {name: str(value) for name, value in json.loads(str(arrays["about"])).items()}
        if not {"dataset", "licence"} <= {*about}:
            raise ValueError("facts are missing")
        columns = {n: arrays[n] for n in ("center", "scale", *DIAGNOSTICS) if n in arrays}
        loc, noise = arrays["loc"].astype(float), arrays["noise"].astype(float)
        mixture = Mixture(loc, np.zeros_like(noise), noise)
        table = pd.DataFrame(columns, index=arrays["splits"])
        return Reference(StoredMixtures(arrays["split"], arrays["row"], mixture), table, about)
    except (ValueError, TypeError, AttributeError):
        raise _unreadable(path, "is not a reference", "damaged") from None


def read_functions(path: Path) -> StoredMixtures:
    """Read `split`, `row` and draws of a function, one row per test point, original units.

    The file is `.npz` with `split`, `row` and `function` `[M, S]`, or CSV with `split`, `row` and a
    column per draw. Draw s is the same function at every point. The noise is 0.

    Raises:
        UserError: if the file is missing or not of this form.
    """
    if path.suffix == ".npz":
        arrays = _arrays(path, ("split", "row", "function"))
    else:
        try:
            table = pd.read_csv(path)
            split, row = table.pop("split"), table.pop("row")
            arrays = {
                "split": split.to_numpy(),
                "row": row.to_numpy(),
                "function": table.to_numpy(),
            }
        except READ_ERRORS as error:
            raise_disk_error(error)
            raise _unreadable(path, "is not a CSV file with split and row", "damaged") from None
    split, row, function = arrays["split"], arrays["row"], arrays["function"]
    try:
        values = function.astype(float)
    except (ValueError, TypeError):
        raise _unreadable(path, "has draws that are not numbers", "not_numbers") from None
    if values.ndim != 2 or not len(split) == len(row) == len(values) or not values.size:
        raise _unreadable(path, "must have one row of draws per split and row", "shape")
    if not np.isfinite(values).all():
        raise _unreadable(path, "has draws that are not finite", "not_finite")
    none = np.zeros((len(values), 1))
    return StoredMixtures(split, row, Mixture(values, none, none))


def score(given: StoredMixtures, reference: Reference) -> pd.DataFrame:
    """Return the distances of predictions to a reference, one row per split.

    The predictive distributions are those of the given functions with the noise of the reference.
    Rows with `halves` true compare the first with the second half of the reference's draws.

    Raises:
        UserError: if a split is unknown, or its rows are not exactly those of the reference.
    """
    rows = []
    for split in np.unique(given.split):
        if split not in reference.splits.index:
            raise UserError(f"the reference has no split {split}.", "FILE", "unknown_split")
        own, there = (np.flatnonzero(part.split == split) for part in (given, reference.stored))
        own, there = own[np.argsort(given.row[own])], there[np.argsort(reference.stored.row[there])]
        if not np.array_equal(given.row[own], reference.stored.row[there]):
            raise UserError(
                f"split {split} must have the {len(there)} test rows of the reference, each once.",
                "FILE",
                "rows",
            )
        chains, of_split = (
            reference.stored.mixture.select_points(there),
            reference.splits.loc[split],
        )
        functions = (given.mixture.loc[own] - of_split["center"]) / of_split["scale"]
        mixture = Mixture(functions, np.zeros_like(chains.noise), chains.noise)
        middle = chains.components // 2
        pairs = {
            False: (mixture, chains),
            True: (
                chains.select_components(slice(middle)),
                chains.select_components(slice(middle, None)),
            ),
        }
        rows += [
            {"split": split, "halves": halves,
             **distances(p, q, quantiles(p), quantiles(q), seed=int(split))}
            for halves, (p, q) in pairs.items()
        ]  # fmt: skip
    return pd.DataFrame(rows)


def _checksums() -> str:
    return (FOLDER / "checksums.txt").read_text()


def _arrays(path: Path, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Read the arrays of an `.npz` file, which must include `names`."""
    try:
        check_archive(path)
        with np.load(path) as arrays:
            found = {key: arrays[key] for key in arrays.files}
    except READ_ERRORS as error:
        raise_disk_error(error)
        raise _unreadable(path, "is damaged or missing", "damaged") from None
    if not {*names} <= {*found}:
        raise _unreadable(path, f"must have the arrays {', '.join(names)}", "arrays")
    return found


def _unreadable(path: Path, problem: str, code: str) -> UserError:
    return UserError(f"{path} {problem}.", "FILE", code)
