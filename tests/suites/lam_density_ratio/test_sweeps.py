"""What `bnnbench reproduce lam_density_ratio` runs: nothing twice for nothing, nothing refused."""

from __future__ import annotations

from hydra import initialize_config_dir

from bnnbench.cli.configs import config_folder
from bnnbench.cli.line import jobs_of
from bnnbench.suites.lam_density_ratio import SUITE


def test_the_sweeps_are_composed() -> None:
    counts = {}
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        for sweep in SUITE.sweeps:
            words = [f"experiment={sweep.experiment}", *sweep.overrides.split()]
            counts[sweep.experiment, sweep.overrides] = len(jobs_of(words))
    of_sprinkler = [n for (name, _), n in counts.items() if name == "sprinkler"]
    assert of_sprinkler == [2, 12, 2, 2, 6, 6, 1, 6]
    assert sum(n for (_, words), n in counts.items() if "prior,joint" in words) == 14


def test_the_quick_part_is_a_matter_of_minutes() -> None:
    """Both experiments of the theory, and five repetitions of two configurations."""
    small = [sweep for sweep in SUITE.sweeps if "small" in sweep.sizes]
    assert [sweep.experiment for sweep in small] == [
        "divergence_bounds", "estimator_parametrisations", "sprinkler",
    ]  # fmt: skip
    assert "protocol=quick" in small[-1].overrides
