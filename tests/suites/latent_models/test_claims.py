"""Rules of the claims on tables that are made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.decisions import settled

from bnnbench.experiment.store.answer_tables import SCORES
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.results.claims.saved_run import SavedRun
from bnnbench.suites.latent_models.planar_flows_page import flows_beat_vae, short_flows_are_equal
from bnnbench.suites.latent_models.published import ACCURACY, LABELS
from bnnbench.suites.latent_models.semi_supervised.experiment import unit_of
from bnnbench.suites.latent_models.semi_supervised.page import fewer_labels_gain_more
from bnnbench.suites.latent_models.semi_supervised.stack import MIXED, SUPERVISED


def run_of(column: str, means: dict[str, float], noise: float, repetitions: int) -> SavedRun:
    """Return a run with independent normal scores around these means."""
    random = np.random.default_rng(0)
    rows = [
        {"unit": unit, "repetition": k, column: mean + noise * random.normal()}
        for unit, mean in means.items()
        for k in range(repetitions)
    ]
    return SavedRun(RunFolder(Path("nowhere")), {SCORES: pd.DataFrame(rows)})


@pytest.mark.parametrize("images", ["mnist", "fashion_mnist"])
def test_the_trend_of_the_book_s_gains_needs_no_strict_order(images: str) -> None:
    """On MNIST, the book's gain is larger with 300 labels than with 100."""
    semi, alone = ACCURACY[images, "semi-supervised"], ACCURACY[images, "supervised"]
    means = {unit_of(MIXED, n): value for n, value in zip(LABELS, semi, strict=True)}
    means |= {unit_of(SUPERVISED, n): value for n, value in zip(LABELS, alone, strict=True)}
    holds, evidence = fewer_labels_gain_more(run_of("accuracy", means, 2.0, 3), MIXED)
    assert holds and "100: +4" in evidence
    flat = dict.fromkeys(means, 80.0)
    assert settled(fewer_labels_gain_more(run_of("accuracy", flat, 2.0, 3), MIXED)[0]) is None
    rising = {**flat, **{unit_of(MIXED, n): 60.0 + 10 * k for k, n in enumerate(sorted(LABELS))}}
    assert fewer_labels_gain_more(run_of("accuracy", rising, 2.0, 3), MIXED)[0] is False


def test_equal_flows_are_confirmed_or_undecided_but_not_refuted() -> None:
    means = {f"flow-{k}": -71.7 for k in (0, 2, 4, 8)}
    assert short_flows_are_equal(run_of("log_p", means, 0.05, 3))[0] is True
    assert settled(short_flows_are_equal(run_of("log_p", means, 0.5, 3))[0]) is None
    means["flow-8"] = -70.0
    assert short_flows_are_equal(run_of("log_p", means, 0.05, 3))[0] is False
    one_of_three, _ = flows_beat_vae(run_of("log_p", means, 0.05, 3))
    assert settled(one_of_three) is None
    worse = {**means, "flow-0": -69.0}
    assert flows_beat_vae(run_of("log_p", worse, 0.05, 3))[0] is False
    assert flows_beat_vae(run_of("log_p", {**means, "flow-0": -73.4}, 0.05, 3))[0] is True
