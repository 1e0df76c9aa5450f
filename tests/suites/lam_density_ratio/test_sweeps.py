"""The sweeps of `bnnbench reproduce lam_density_ratio`."""

from __future__ import annotations

from hydra import initialize_config_dir

from bnnbench.config.configs import config_folder
from bnnbench.config.sweep import job_overrides
from bnnbench.suites.lam_density_ratio import SUITE


def test_number_of_jobs_of_each_sweep() -> None:
    counts = {}
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        for sweep in SUITE.sweeps:
            words = [f"experiment={sweep.experiment}", *sweep.overrides.split()]
            counts[sweep.experiment, sweep.overrides] = len(job_overrides(words))
    sprinkler = [n for (name, _), n in counts.items() if name == "sprinkler"]
    assert sprinkler == [2, 12, 2, 2, 6, 6, 1, 6]
    assert sum(n for (_, words), n in counts.items() if "prior,joint" in words) == 14


def test_the_small_part_has_the_quick_schedule() -> None:
    """Both theory experiments, and five repetitions of two configurations."""
    small = [sweep for sweep in SUITE.sweeps if "small" in sweep.sizes]
    assert [sweep.experiment for sweep in small] == [
        "divergence_bounds", "estimator_parametrisations", "sprinkler",
    ]  # fmt: skip
    assert "experiment.schedule=quick" in small[-1].overrides
