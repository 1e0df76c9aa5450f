"""Compare with other libraries: `python tests/benchmarks/peers.py`, a part of `make bench`.

Every library that is installed (`pip install '.[peers]'`) fits and predicts the same splits of
Boston, one after the other, in a process of its own with one thread; so does `BNNRegressor`. One
function scores all predictions. Writes `peers.csv` to `outputs/bench`, a row per program and split,
with processor, clock and load; a library is refused while other programs use the machine.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd
from benchmarks import peer_programs as programs
from benchmarks.commands import measured
from benchmarks.machine import measure_idle

from bnnbench import load_table
from bnnbench.notes import note
from bnnbench.prediction.distribution import PredictiveDistribution
from bnnbench.results.score.predictions import Mixture
from bnnbench.types import Table, UserError

SPLITS = 5

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""Environment variables that limit torch and jax to one thread."""


@dataclass(frozen=True)
class Comparison:
    """A method of another library, and the same method of bnnbench.

    Attributes:
        method: its name.
        package: the library's distribution.
        module: of the library, which is imported before the clock starts.
        program: a function of `peer_programs.py`.
        ours: arguments of `peer_programs.bnnbench`.
        not_matched: what differs, other than the implementation.
        epochs: passes over the training rows.
        batch: rows in a minibatch.
        samples: components of the predictive mixture.
        backend: the distribution that computes.
    """

    method: str
    package: str
    module: str
    program: Callable[..., programs.Moments]
    ours: Mapping[str, Any]
    not_matched: str
    epochs: str = str(programs.EPOCHS)
    batch: str = str(programs.BATCH)
    samples: int = programs.SAMPLES
    backend: str = "torch"


LIGHTNING = ("lightning-uq-box", "lightning_uq_box.uq_methods")
PREDICTED_NOISE = {"likelihood": "heteroscedastic", "prior_precision": programs.PRIOR}
FIXED = {"noise_precision": programs.NOISE, "prior_precision": programs.PRIOR}
DRAWS = programs.CHAINS * programs.DRAWS // programs.THINNING

COMPARISONS = (
    Comparison(
        "MC dropout, predicted noise", *LIGHTNING, programs.lightning_mc_dropout,
        {"method": "mc_dropout", **PREDICTED_NOISE,
         "settings": {"method.dropout": programs.DROPOUT}},
        "bnnbench drops inputs too",
    ),
    Comparison(
        "deep ensemble, predicted noise", *LIGHTNING, programs.lightning_deep_ensemble,
        {"method": "deep_ensemble", **PREDICTED_NOISE,
         "settings": {"method.members": programs.MEMBERS}},
        "members of bnnbench share minibatches", samples=programs.MEMBERS,
    ),
    Comparison(
        "SWAG, predicted noise", *LIGHTNING, programs.lightning_swag,
        {"method": "swag", **PREDICTED_NOISE, "settings": {"method.step_size": programs.SWAG_RATE}},
        "SGD of bnnbench has momentum and the prior",
    ),
    Comparison(
        "BBB with ten samples, predicted noise", *LIGHTNING, programs.lightning_bbb,
        {"method": "bbb", **PREDICTED_NOISE, "settings": {}},
        "initial posterior, weight of the KL divergence",
    ),
    Comparison(
        "BBB with ten samples, fixed noise", "bayesian-torch", "bayesian_torch.models.dnn_to_bnn",
        programs.bayesian_torch_bbb, {"method": "bbb", **FIXED, "settings": {}},
        "initial posterior, weight of the KL divergence",
    ),
    Comparison(
        "KFAC Laplace, precisions by evidence", "laplace-torch", "laplace",
        programs.laplace_torch,
        {"method": "laplace", "settings": {
            f"method.{name}_precision_by": "marginal_likelihood" for name in ("prior", "noise")}},
        "Kronecker factors of biases, optimiser of the evidence", samples=1,
    ),
    Comparison(
        "MILE, predicted noise", "sklearn-contrib-bde", "bde", programs.bde_mile,
        {"method": "mile", **PREDICTED_NOISE, "epochs": programs.WARM_UP + programs.DRAWS,
         "settings": {
             "training.batch_size": "all", "method.chains": programs.CHAINS,
             "method.map_steps": programs.TRAINED, "method.warm_up": programs.WARM_UP,
             "method.thinning": programs.THINNING, "evaluation.samples": DRAWS}},
        "prior of the start, link of the noise",
        f"{programs.TRAINED} + {programs.WARM_UP + programs.DRAWS}", "all", DRAWS, "jax",
    ),
)  # fmt: skip


def scores(targets: np.ndarray, mean: np.ndarray, deviation: np.ndarray) -> dict[str, float]:
    """Score equally weighted mixtures with means and deviations `[M, S]` at targets `[M]`.

    Returns:
        `rmse` of the predictive mean, and `log_likelihood` in nats per point, in original units.
    """
    mixture = Mixture(mean, np.zeros_like(deviation), deviation**2)
    predicted = PredictiveDistribution(mixture, pd.RangeIndex(len(targets)))
    return {
        "rmse": float(np.sqrt(np.mean((predicted.mean - targets) ** 2))),
        "log_likelihood": float(predicted.log_pdf(targets).mean()),
    }


def measure(words: Mapping[str, Any], table: Table, count: int) -> Iterator[dict[str, float]]:
    """Run `peer_programs.py` with these arguments on the first splits, and yield a row for each."""
    splits, arrays = table.splits[:count], {}
    for k, split in enumerate(splits):
        arrays[f"x_{k}"], arrays[f"y_{k}"] = table.inputs[split.train], table.targets[split.train]
        arrays[f"new_{k}"] = table.inputs[split.test]
    with tempfile.TemporaryDirectory() as folder:
        files = {name: f"{folder}/{name}.npz" for name in ("data", "outputs")}
        np.savez(files["data"], **arrays)
        command = [sys.executable, str(programs.__file__), json.dumps({**words, **files})]
        line, _, peak_gb = measured(command, ONE_THREAD)
        outputs = dict(np.load(files["outputs"]))
    import_seconds, seconds = json.loads(line)
    for k, split in enumerate(splits):
        yield {"split": k, "seconds": seconds[k], "import_seconds": import_seconds,
               "peak_gb": peak_gb, **scores(table.targets[split.test], outputs[f"mean_{k}"],
                                            outputs[f"deviation_{k}"])}  # fmt: skip


def compare(one: Comparison, table: Table, count: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the other library, then those of bnnbench."""
    theirs = {"program": one.program.__name__, "module": one.module, "settings": {}}
    ours = {"program": "bnnbench", "module": "bnnbench.estimator", "settings": one.ours}
    for package, backend, words in (
        (one.package, one.backend, theirs),
        ("bnnbench", "torch", ours),
    ):
        for row in measure(words, table, count):
            yield {
                "method": one.method, "program": f"{package} {version(package)}",
                "backend": f"{backend} {version(backend)}", "epochs": one.epochs,
                "batch": one.batch, "samples": one.samples, "threads": 1, **row,
                "not_matched": one.not_matched,
            }  # fmt: skip


def main() -> int:
    """Measure every installed library, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--outputs", type=Path, default=Path("outputs/bench"))
    options = parser.parse_args()
    options.outputs.mkdir(parents=True, exist_ok=True)
    table, rows = load_table("boston"), list[Mapping[str, Any]]()
    for one in COMPARISONS:
        try:
            version(one.package)
        except PackageNotFoundError:
            print(f"{one.method}: {one.package} is not installed (pip install '.[peers]')")
            continue
        try:
            rows += measure_idle(one.method, partial(compare, one, table, SPLITS))
        except UserError as error:
            note(str(error))
            return 2
        pd.DataFrame(rows).to_csv(options.outputs / "peers.csv", index=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
