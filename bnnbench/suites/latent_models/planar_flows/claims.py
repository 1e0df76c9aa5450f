"""The book's claims about flows and importance-weighted bounds, checked on saved tables."""

from __future__ import annotations

from itertools import combinations, pairwise

from bnnbench.experiment.store.answer_tables import SCORES
from bnnbench.results.claims.claims import (
    MAJORITY,
    CheckResult,
    Claims,
    NotTestable,
    all_hold,
    most_hold,
)
from bnnbench.results.claims.mean_tests import ALONE, TOGETHER, all_positive
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.latent_models.bounds import BOUND_SIZES
from bnnbench.suites.latent_models.margins import EQUAL, check_margin
from bnnbench.suites.latent_models.names import BOOK, BOUND, IMAGES_OF_BOOK

SHORT = (2, 4, 8)
"""Lengths that the book finds equal."""

SAME = 0.5
"""Nats that do not count as a difference: a quarter of the smallest gain over K = 0 in Table 5.1
on MNIST, rounded up."""

claims = Claims()


@claims(
    "Planar flows improve log p(x) over a plain VAE",
    source=f"{BOOK}, 5.6.3, Table 5.1",
    data=IMAGES_OF_BOOK,
    rule=f"{BOUND}, paired by repetition, is above that of K = 0 for at least {MAJORITY:.0%} of "
    f"the lengths {TOGETHER}",
)
def flows_beat_vae(run: SavedRun) -> CheckResult:
    lengths = [k for k in run.sizes("flow-") if k > 0]
    if 0 not in run.sizes("flow-") or not lengths:
        raise NotTestable("needs K = 0 and a flow")
    gains = {f"K = {k}": run.difference("log_p", f"flow-{k}", "flow-0") for k in lengths}
    better, evidence = all_positive(gains)
    return most_hold(better), evidence


@claims(
    "Flows of 2, 4 and 8 steps do not differ",
    source=f"{BOOK}, 5.6.3, Table 5.1",
    data=IMAGES_OF_BOOK,
    rule=f"between any two, {BOUND}, paired by repetition, differs by less than {SAME} nats "
    f"{EQUAL}",
)
def short_flows_are_equal(run: SavedRun) -> CheckResult:
    if not set(SHORT) <= set(run.sizes("flow-")):
        raise NotTestable("needs K = 2, 4 and 8")
    gains = {
        f"{b} - {a}": run.difference("log_p", f"flow-{b}", f"flow-{a}")
        for a, b in combinations(SHORT, 2)
    }
    return check_margin(gains, SAME)


@claims(
    "Many steps are needed for the effect",
    source=f"{BOOK}, 5.6.3",
    data=IMAGES_OF_BOOK,
    rule=f"for the longest flow, {BOUND}, paired by repetition, is above that of one step {ALONE}",
)
def long_flows_are_better(run: SavedRun) -> CheckResult:
    lengths = run.sizes("flow-")
    if 1 not in lengths or lengths[-1] == 1:
        raise NotTestable("needs K = 1 and a longer flow")
    gain = run.difference("log_p", f"flow-{lengths[-1]}", "flow-1")
    (better,), evidence = all_positive({f"K = {lengths[-1]} - K = 1": gain})
    return better, evidence


@claims(
    "The bound of log p(x) rises with its number of samples, from the ELBO on",
    source=f"{BOOK}, 5.4",
    data=IMAGES_OF_BOOK,
    rule="the means over test images rise from the ELBO to the bounds with 5 and 50 draws and to "
    f"{BOUND}, in every setting and repetition",
)
def bounds_are_ordered(run: SavedRun) -> CheckResult:
    scores = run[SCORES]
    columns = ["elbo", *(f"iwae_{k}" for k in BOUND_SIZES if f"iwae_{k}" in scores), "log_p"]
    smallest = min((scores[b] - scores[a]).min() for a, b in pairwise(columns))
    return bool(smallest >= 0), f"smallest difference of neighbours {smallest:.3f} nats"


@claims(
    "Training with the importance-weighted bound gives a better model with a worse ELBO",
    source=f"{BOOK}, 5.4",
    data=IMAGES_OF_BOOK,
    rule=f"for every number of samples, the ELBO is below and {BOUND} above that of the VAE, "
    f"paired by repetition {TOGETHER}",
)
def weighted_training_helps(run: SavedRun) -> CheckResult:
    differences = {}
    for samples in run.sizes("iwae-"):
        name, unit = f"T = {samples}", f"iwae-{samples}"
        differences[f"{name}, fall of the ELBO"] = run.difference("elbo", "flow-0", unit)
        differences[f"{name}, rise of the bound"] = run.difference("log_p", unit, "flow-0")
    holds, evidence = all_positive(differences)
    return all_hold(holds), evidence
