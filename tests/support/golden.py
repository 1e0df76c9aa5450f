"""Short runs of every method, preset and experiment for regression tests.

`python -m support.golden OUTPUTS CASE ...` runs cases and prints the digests of their tables as
JSON; `golden.json` contains the expected ones. The program starts itself again with the environment
variables in `PORTABLE`, with which numerical libraries use the same code on every processor.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.config.assemble import build
from bnnbench.config.configs import options
from bnnbench.config.overrides import as_override
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.store.run_folder import finished_runs
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS
from bnnbench.types import DuplicateConfiguration
from support.config import compose, compose_configs
from support.methods import FAST_SETTINGS, OF_LIBRARIES, depth_overrides
from support.quick import without_fsync

PORTABLE = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    "OMP_NUM_THREADS": "1",
    "BNNBENCH_NATIVE": "0",
}

NAMES = ["experiment", "dataset", "method", "divergence", "likelihood", "loss", "depth"]

DIABETES = "dataset=diabetes"
SEARCH = "search.iterations=3 search.initial_points=2 search.folds=2"
REST = (
    "training.epochs=2 training.final_epochs=3 training.samples=2 evaluation.samples=4 "
    "network.width=6 workers=1 training.compile=never device=cpu"
)
SHORT = f"splits=2 {SEARCH} {REST}"
UNSEARCHED = f"splits=2 {REST}"
FIXED = (
    "search=none method.noise_precision=10 method.prior_precision=1 evaluation.out_of_fold=false"
)
DIVERGENCES = (
    "kl,kl_prior_posterior,alpha,alpha_2,renyi,renyi_2,alpha_renyi,alpha_renyi_2,js,alpha_js,jeffreys,"
    "wasserstein2,hellinger,chi2,tv,tv_lower,tv_upper,fisher"
)

VARIANTS = {
    "two layers": "method=vadam depth=2",
    "linear model": "method=bbb depth=0",
    "float64": "method=vadam training.dtype=float64",
    "whole batches": "method=bbb training.batch_size=all",
    "mc_dropout gaussian": "method=mc_dropout method.noise=gaussian",
    "mc_dropout dropconnect": "method=mc_dropout method.noise=dropconnect",
    "practical_vi gauss_newton": "method=practical_vi method.curvature=gauss_newton",
    "deep_ensemble adversarial": "method=deep_ensemble method.adversarial=true",
    "laplace full": "method=laplace method.curvature=full method.predictive=sampled",
    "laplace evidence": "method=laplace method.prior_precision_by=marginal_likelihood",
    "bbb exponential": "method=bbb method.minibatch_weights=exponential",
    "heteroscedastic": "method=bbb likelihood=heteroscedastic",
    "heteroscedastic gamma": "method=vadam likelihood=heteroscedastic loss=gamma",
    "beta": "method=bbb loss=beta",
    "laplace prior": "method=bbb prior=laplace divergence.estimator=monte_carlo",
    "scale mixture": "method=bbb prior=scale_mixture divergence.estimator=monte_carlo",
    "uci": "dataset=boston",
    "book_uci": "experiment=book_uci dataset=yacht method=pbp,vadam,bbb_x1",
}
"""Runs with a search whose settings use other code than a method's defaults."""

SWEEPS = {
    "stack of splits": f"method=vadam {DIABETES} {UNSEARCHED} {FIXED} splits=7",
    "divergences": f"method=bbb {DIABETES} divergence={DIVERGENCES} {UNSEARCHED} {FIXED}",
    "gvi_alpha": "experiment=gvi_alpha dataset=yacht divergence=alpha,renyi "
    f"divergence.alpha=0.5,2 {UNSEARCHED}",
    "gvi_uci": f"experiment=gvi_uci dataset=yacht depth=1,2 divergence=kl,js {UNSEARCHED}",
    "gvi_competitors": "experiment=gvi_competitors dataset=yacht depth=1 "
    f"method=bbb,sgld,mc_dropout divergence=kl {UNSEARCHED}",
    "gp_toy": f"experiment=gp_toy depth=1,2 method=bbb,laplace divergence=kl,tv_lower {REST}",
    "toy_1d": f"experiment=toy_1d dataset=sine_20,sine_40 method=bbb,mc_dropout {REST}",
    "region_uci": f"experiment=region_uci {DIABETES} method=map,vadam "
    f"experiment.region=gap,tail {UNSEARCHED} {FIXED}",
    "active_learning": f"experiment=active_learning {DIABETES} method=bbb,linear "
    f"experiment.additions=2 experiment.repetitions=2 {REST}",
    "bandit": "experiment=bandit method=bbb,linear experiment.steps=30 experiment.batch=10 "
    f"experiment.repetitions=2 {REST}",
    "linear_regression": "experiment=linear_regression method=bbb,laplace,vadam,cavi "
    "training.epochs=5 workers=1",
}
"""Runs without a search, whose splits are trained in stacks."""


def fast_overrides(method: str) -> list[str]:
    """Return overrides that make a method fast."""
    return [as_override(f"method.{k}", v) for k, v in FAST_SETTINGS.get(method, {}).items()]


CASES = {
    **{
        f"method {name}": " ".join(
            [f"method={name}", DIABETES, *depth_overrides(name), *fast_overrides(name), SHORT]
        )
        for name in options("method")
        if name not in OF_LIBRARIES
    },
    **{
        name: " ".join([words, *([] if "dataset=" in words else [DIABETES]), SHORT])
        for name, words in VARIANTS.items()
    },
    **SWEEPS,
}
"""Arguments of `bnnbench run -m`, by name of the case."""


def run_case(case: str, outputs: Path) -> None:
    """Execute all runs of a case without writing pages."""
    for config in _configs([*CASES[case].split(), f"outputs_dir={outputs}"]):
        with suppress(DuplicateConfiguration):
            execute(build(config))


def _configs(words: list[str]) -> list[dict[str, Any]]:
    """Compose the configurations of a case."""
    is_sweep = any("," in word or word.startswith("experiment=") for word in words)
    return compose_configs(words) if is_sweep else [compose(*words)]  # the latter is faster


def digests(outputs: Path) -> dict[str, str]:
    """Return the digest of each run's table, without times and hardware, by name of the run."""
    found = {}
    for folder in finished_runs(outputs):
        names = ("splits", "posterior", "labels", "steps")
        path = next(p for p in map(folder.table, names) if p.exists())
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        table = table.drop(columns=MACHINE_COLUMNS, errors="ignore")
        name = " ".join(table[column].iloc[0] for column in NAMES if column in table)
        name = name or " ".join(folder.root.parts[-3:-1])
        found[name] = hashlib.sha256(table.to_csv(index=False).encode()).hexdigest()[:16]
    return found


def main(outputs: Path, cases: list[str]) -> None:
    """Print `{case: {run: digest}}`."""
    found = {}
    with without_fsync():
        for case in cases:
            run_case(case, outputs / case.replace(" ", "_"))
            found[case] = digests(outputs / case.replace(" ", "_"))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    if not PORTABLE.items() <= os.environ.items():
        words = [sys.executable, "-m", "support.golden", *sys.argv[1:]]
        os.execve(sys.executable, words, {**os.environ, **PORTABLE})
    main(Path(sys.argv[1]), sys.argv[2:] or list(CASES))
