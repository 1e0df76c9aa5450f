"""Compare the HMC chains with another program: `python docs/tools/nuts.py RUN FOLDER`.

RUN is a finished run of HMC with its predictive mixtures, of which 1,000 draws are compared. The
same model is written for numpyro, in float64, and its NUTS (Hoffman & Gelman 2014) runs on the
first split, chain by chain. Chains are stored in FOLDER and not run again. Needs
`pip install '.[nuts]'` and the UCI sets.

NUTS shares no code with `method=hmc`: model, gradients, integrator, adaptation and starts are
numpyro's. The standardised data, the diagnostics and the distances are ours.

The rule, set before the first run. The samplers *agree* on a split if each distance between NUTS
and HMC (W1, W1 of the function, energy distance) is at most the larger of the distances between the
halves of NUTS's and of HMC's draws. The comparison is *undecided* if NUTS itself has not converged:
R-hat above 1.01, or a bulk or tail effective sample size below 400, at 99 % of the test points.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from bnnbench.data.bundled import read_table
from bnnbench.experiment.splits.fitting import standardised_inputs, training_scaler
from bnnbench.experiment.store.run_folder import find_run
from bnnbench.files import write_atomically, write_text
from bnnbench.methods.shared.chains import NAMES, diagnose_predictions
from bnnbench.metrics import log_likelihood, rmse
from bnnbench.results.read.run_tables import read_runs
from bnnbench.results.score.predictions import Mixture, read_mixtures
from bnnbench.results.score.predictive_distances import quantiles
from bnnbench.suites.gold_standard.comparison import distances
from bnnbench.types import Prediction, Split, Table

WIDTH = 50
"""Hidden units of the model of `experiment=gold_standard` on the UCI sets."""

COMPARED = ("w1", "w1_function", "energy_distance")
"""The distances of the rule."""

MAX_R_HAT, MIN_ESS = 1.01, 400

DRAWS = 1000
"""Draws of each sampler that are compared, evenly over its chains."""


def network(weights: Any, inputs: Any) -> Any:
    """Return the outputs `[N]` of a ReLU network for inputs `[N, D + 1]` with a column of ones."""
    import jax

    hidden = jax.nn.relu(inputs @ weights["first"])
    return hidden @ weights["second"][:-1] + weights["second"][-1]


def model(inputs: Any, targets: Any, prior_precision: float, noise_precision: float) -> None:
    """Draw all weights and biases, and the targets given the network's outputs."""
    import numpyro
    from numpyro.distributions import Normal

    prior, noise = Normal(0, prior_precision**-0.5), noise_precision**-0.5
    sizes = {"first": [inputs.shape[1], WIDTH], "second": [WIDTH + 1]}
    weights = {name: numpyro.sample(name, prior.expand(size)) for name, size in sizes.items()}
    numpyro.sample("targets", Normal(network(weights, inputs), noise), obs=targets)


def rotated(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Append a column of ones to inputs, and rotate them to the principal axes of `train`.

    The prior of the weights has no preferred direction, so that a rotation does not change the
    model. On these axes, a diagonal mass matrix can separate steep from flat directions.
    """
    train, test = (np.pad(part, ((0, 0), (0, 1)), constant_values=1.0) for part in (train, test))
    axes = np.linalg.svd(train, full_matrices=False)[2].T
    return train @ axes, test @ axes


def run_chain(
    data: tuple[np.ndarray, ...],
    precisions: dict[str, float],
    arguments: argparse.Namespace,
    seed: int,
) -> dict[str, np.ndarray]:
    """Run one chain from weights drawn uniformly from ±0.1.

    Args:
        data: standardised training inputs `[N, D]`, targets `[N]`, and test inputs `[M, D]`.
        precisions: of the prior and the noise.
        arguments: `warm_up`, `draws`, `depth` and `acceptance`.
        seed: of the chain.

    Returns:
        `function` `[M, draws]` at the test inputs, standardised; `leapfrogs` and `divergent`
        `[draws]`; `seconds`.
    """
    import jax
    from numpyro.infer import MCMC, NUTS, init_to_uniform

    start, (train, targets, test) = time.perf_counter(), data
    inputs, test = rotated(train, test)
    kernel = NUTS(
        model,
        dense_mass=[("second",)],
        init_strategy=init_to_uniform(radius=0.1),
        max_tree_depth=arguments.depth,
        target_accept_prob=arguments.acceptance,
    )
    chain = MCMC(
        kernel, num_warmup=arguments.warm_up, num_samples=arguments.draws, progress_bar=False
    )
    key = jax.random.PRNGKey(seed)
    chain.run(key, inputs, targets, **precisions, extra_fields=("num_steps", "diverging"))
    function = jax.vmap(network, (0, None))(chain.get_samples(), test)
    extra = chain.get_extra_fields()
    return {
        "function": np.asarray(function).T,
        "leapfrogs": np.asarray(extra["num_steps"]),
        "divergent": np.asarray(extra["diverging"]),
        "seconds": np.asarray(time.perf_counter() - start),
    }


def chains(
    table: Table, split: Split, precisions: dict[str, float], arguments: argparse.Namespace
) -> Iterator[dict[str, np.ndarray]]:
    """Yield every chain, from its file if it has one."""
    train, test = standardised_inputs(table, split)
    targets = training_scaler(table, split).targets([table.targets[split.train]])[0].numpy()
    for seed in range(arguments.chains):
        settings = f"{arguments.warm_up}-{arguments.draws}-{arguments.depth}-{arguments.acceptance}"
        path = arguments.folder / f"{table.name}-{settings}-{seed}.npz"
        if not path.exists():
            arrays: dict[str, Any] = run_chain((train, targets, test), precisions, arguments, seed)
            write_atomically(path, partial(np.savez, **arrays))
            print(f"{path}: {arrays['seconds']:.0f} s", flush=True)
        with np.load(path) as stored:
            yield dict(stored)


def scores(mixture: Mixture, table: Table, split: Split) -> tuple[float, float]:
    """Return RMSE and log-likelihood of standardised predictions, in the units of the target."""
    parts = (mixture.loc, np.broadcast_to(mixture.noise, mixture.loc.shape))
    loc, noise = (torch.from_numpy(part.T[:, None].copy()) for part in parts)
    units = training_scaler(table, split).target_units()
    prediction = Prediction(loc, torch.zeros_like(noise), noise).rescaled(*units)
    targets = torch.from_numpy(table.targets[split.test])[None]
    real = torch.ones_like(targets, dtype=torch.bool)
    return rmse(prediction, targets, real).item(), log_likelihood(prediction, targets, real).item()


def thinned(function: np.ndarray, noise: np.ndarray) -> Mixture:
    """Return `DRAWS` of the draws of a function `[M, S]`, with the noise variance `[M, 1]`."""
    step = np.linspace(0, function.shape[1] - 1, DRAWS).round().astype(int)
    return Mixture(function[:, step], np.zeros_like(noise), noise)


def distances_between(p: Mixture, q: Mixture, split: Split) -> dict[str, float]:
    """Return the distances between two predictive distributions on the test points of a split."""
    return distances(p, q, quantiles(p), quantiles(q), seed=split.index)


def distances_of_halves(mixture: Mixture, split: Split) -> dict[str, float]:
    """Return the distances between the first and the second half of the draws."""
    middle = mixture.components // 2
    halves = (slice(middle), slice(middle, None))
    return distances_between(*(mixture.select_components(half) for half in halves), split)


def compare(
    found: list[dict[str, np.ndarray]],
    hmc: Mixture,
    of_split: pd.Series,
    table: Table,
    split: Split,
) -> dict[str, Any]:
    """Compare the chains of NUTS with those of HMC on a split.

    Args:
        found: the chains of NUTS.
        hmc: `thinned` draws of HMC at the test points of the split.
        of_split: its diagnostics, `diag.*`.
        table: the data set.
        split: the split.

    Returns:
        The row of the data set. Columns end in `nuts`, `hmc` or, for distances, `between`;
        `nuts` and `hmc` are then distances between halves.
    """
    draws = np.concatenate([chain["function"] for chain in found], 1)
    nuts = thinned(draws, hmc.noise)
    between = distances_between(nuts, hmc, split)
    halves = {"nuts": distances_of_halves(nuts, split), "hmc": distances_of_halves(hmc, split)}
    series = torch.from_numpy(np.stack([chain["function"].T for chain in found]))
    summary = diagnose_predictions(series[:, :, None], [len(split.test)]).summary
    facts: dict[str, Any] = {"dataset": table.name, "split": split.index, "rule": ""}
    for name in NAMES:
        facts |= {f"{name}_nuts": summary[name].item(), f"{name}_hmc": of_split[f"diag.{name}"]}
    for name, mixture in (("nuts", nuts), ("hmc", hmc)):
        own_scores = scores(mixture, table, split)
        facts |= {f"rmse_{name}": own_scores[0], f"log_likelihood_{name}": own_scores[1]}
    for name in COMPARED:
        facts |= {f"{name}_{sampler}": own[name] for sampler, own in halves.items()}
        facts[f"{name}_between"] = between[name]
    leapfrogs, divergent = (
        np.concatenate([chain[name] for chain in found]) for name in ("leapfrogs", "divergent")
    )
    facts |= {"chains": len(found), "draws": draws.shape[1], "leapfrogs": leapfrogs.mean()}
    facts |= {"divergences": divergent.sum(), "seconds": sum(c["seconds"] for c in found)}
    return facts | {"rule": verdict(facts)}


def verdict(facts: dict[str, Any]) -> str:
    """Apply the rule to the row of a data set."""
    ess = min(facts["bulk_ess_nuts"], facts["tail_ess_nuts"])
    if not (facts["r_hat_nuts"] <= MAX_R_HAT and ess >= MIN_ESS):
        return "undecided"
    limits = {name: max(facts[f"{name}_nuts"], facts[f"{name}_hmc"]) for name in COMPARED}
    agree = all(facts[f"{name}_between"] <= limit for name, limit in limits.items())
    return "agree" if agree else "disagree"


def main() -> None:
    """Run the chains that are missing, and store the row of the data set in `FOLDER/nuts.csv`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("folder", type=Path)
    settings = {"chains": 4, "warm_up": 500, "draws": 1000, "depth": 9, "acceptance": 0.8}
    for name, value in settings.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    arguments = parser.parse_args()
    os.environ |= {"JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    folder = find_run(arguments.run)
    runs, stored = read_runs(folder.root), read_mixtures(folder)
    name = runs.scored["dataset"].iloc[0]
    table = read_table(name)
    split = table.splits[0]
    of_split = runs.splits.set_index("split").loc[split.index]
    names = ("prior_precision", "noise_precision")
    precisions = {name: float(of_split[f"hp.{name}"]) for name in names}
    points = np.flatnonzero(stored.split == split.index)
    assert np.array_equal(stored.row[points], split.test)
    hmc = thinned(stored.mixture.loc[points], stored.mixture.noise[points])
    arguments.folder.mkdir(parents=True, exist_ok=True)
    found = list(chains(table, split, precisions, arguments))
    row = compare(found, hmc, of_split, table, split)
    path = arguments.folder / "nuts.csv"
    rows = pd.read_csv(path).query(f"dataset != '{table.name}'") if path.exists() else None
    result = pd.concat([rows, pd.DataFrame([row])]).sort_values("dataset")
    write_text(path, result.to_csv(index=False, float_format="%.6g"))
    print(result.T.to_string())


if __name__ == "__main__":
    main()
