"""Reader of the runs of autoencoders."""

from __future__ import annotations

from bnnbench.results.saved_run import CURVES, SCORES, run_reader

read_run = run_reader({
    SCORES: ("repetition", "elbo_train", "elbo", "log_p", "rate", "distortion", "active_units",
             "probe_accuracy"),
    CURVES: ("repetition", "epoch", "step", "elbo_train", "elbo_test", "rate_train", "rate_test"),
})  # fmt: skip
"""Reads a run of autoencoders."""
