"""The book's claims about flows and importance-weighted bounds, checked on saved tables."""

from __future__ import annotations

from itertools import combinations, pairwise

from bnnbench.results.claims import MAJORITY, CheckResult, Claims, NotTestable
from bnnbench.results.saved_run import SCORES, SavedRun
from bnnbench.suites.latent_models.bounds import BOUND_SIZES
from bnnbench.suites.latent_models.names import BOOK

SHORT = (2, 4, 8)
"""Lengths that the book finds equal."""

claims = Claims()


@claims(
    "Planar flows improve log p(x) over a plain VAE",
    source=f"{BOOK}, Table 5.1",
    rule="log p(x), paired by repetition, is above that of K = 0 by more than two standard errors "
    f"for at least {MAJORITY:.0%} of the lengths",
)
def flows_beat_vae(run: SavedRun) -> CheckResult:
    lengths = [k for k in run.sizes("flow-") if k > 0]
    if 0 not in run.sizes("flow-") or not lengths:
        raise NotTestable("needs K = 0 and a flow")
    gains = {k: run.difference("log_p", f"flow-{k}", "flow-0") for k in lengths}
    better = sum(gain.is_positive for gain in gains.values())
    evidence = "; ".join(f"K = {k}: {gain}" for k, gain in gains.items())
    return better >= MAJORITY * len(gains), evidence


@claims(
    "Flows of 2, 4 and 8 steps do not differ",
    source=f"{BOOK}, Table 5.1",
    rule="log p(x) of each pair, paired by repetition, differs by at most two standard errors",
)
def short_flows_are_equal(run: SavedRun) -> CheckResult:
    if not set(SHORT) <= set(run.sizes("flow-")):
        raise NotTestable("needs K = 2, 4 and 8")
    gains = {
        (a, b): run.difference("log_p", f"flow-{b}", f"flow-{a}") for a, b in combinations(SHORT, 2)
    }
    evidence = "; ".join(f"{b} - {a}: {gain}" for (a, b), gain in gains.items())
    return all(abs(gain.mean) <= 2 * gain.stderr for gain in gains.values()), evidence


@claims(
    "Many steps are needed for the effect",
    source=f"{BOOK}, 5.6.3",
    rule="log p(x) of the longest flow, paired by repetition, is above that of one step by more "
    "than two standard errors",
)
def long_flows_are_better(run: SavedRun) -> CheckResult:
    lengths = run.sizes("flow-")
    if 1 not in lengths or lengths[-1] == 1:
        raise NotTestable("needs K = 1 and a longer flow")
    gain = run.difference("log_p", f"flow-{lengths[-1]}", "flow-1")
    return gain.is_positive, f"K = {lengths[-1]} - K = 1: {gain}"


@claims(
    "ELBO <= IWAE bound with T samples <= that with more <= log p(x)",
    source=f"{BOOK}, 5.4",
    rule="the means over test images rise from the ELBO to the bounds of 5 and 50 samples and to "
    "that of all samples, in every setting and repetition",
)
def bounds_are_ordered(run: SavedRun) -> CheckResult:
    scores = run[SCORES]
    columns = ["elbo", *(f"iwae_{k}" for k in BOUND_SIZES if f"iwae_{k}" in scores), "log_p"]
    smallest = min((scores[b] - scores[a]).min() for a, b in pairwise(columns))
    return bool(smallest >= 0), f"smallest difference of neighbours {smallest:.3f} nats"


@claims(
    "Training with the importance-weighted bound gives a better model with a worse ELBO",
    source=f"{BOOK}, 5.4",
    rule="for every number of samples, the ELBO is below and log p(x) above that of the VAE by "
    "more than two standard errors, paired by repetition",
)
def weighted_training_helps(run: SavedRun) -> CheckResult:
    verdicts, evidence = [], []
    for samples in run.sizes("iwae-"):
        elbo = run.difference("elbo", "flow-0", f"iwae-{samples}")
        log_p = run.difference("log_p", f"iwae-{samples}", "flow-0")
        verdicts.append(elbo.is_positive and log_p.is_positive)
        evidence.append(f"T = {samples}: ELBO {-elbo.mean:+.2f}, log p(x) {log_p}")
    return all(verdicts), "; ".join(evidence)
