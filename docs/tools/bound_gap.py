"""Measure how far the bound with 1,024 draws is below log p(x): `python docs/tools/bound_gap.py`.

Weights of finished runs are not kept, so the models of `experiment=planar_flows images=mnist` in
`UNITS` are trained again, in their first repetition (30 minutes on one core). The bound of log p(x)
rises with the number of draws towards log p(x); it is computed for the same random images with
every number in `DRAWS`. Models that are stored already are not trained again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from stored_results import RESULTS

from bnnbench.config.assemble import build_run
from bnnbench.config.compose import single_job
from bnnbench.files import write_text
from bnnbench.suites.latent_models.experiment import PlanarFlows

GAPS = RESULTS / "images" / "bound_gap" / "mnist.csv"
"""Where the measurements are stored."""

UNITS = ("flow-0", "iwae-5", "flow-32")
"""A plain VAE, an importance-weighted one, and the longest flow."""

IMAGES = 100
"""Number of test images."""

DRAWS = (1024, 4096, 16384, 32768)
"""Numbers of draws for each image; gaps are to the last."""

SETTINGS = (
    "experiment=planar_flows",
    "images=mnist",
    "experiment.lengths=[0,32]",
    "experiment.training_samples=[5]",
    "experiment.repetitions=1",
    f"experiment.evaluated_images={IMAGES}",
    "device=cpu",
)


def measure(experiment: PlanarFlows, unit: str) -> Iterator[dict[str, object]]:
    """Train a model and yield its row for each number of draws.

    `bound` and `gap` are means over the images, in nats; `gap_error` is the standard error of the
    gap over images.
    """
    setting, stack = experiment.settings[unit], experiment.make_stack([unit])
    stack.run(experiment.total_steps(unit), save=lambda: None)
    data = stack.data
    rows = experiment.evaluated_rows(len(data.test))
    images = data.test[rows], data.test_labels[rows]
    bounds = {n: stack.importance_sampling(*images, n)["log_p"][0].astype(float) for n in DRAWS}
    for draws, bound in bounds.items():
        gap = bounds[DRAWS[-1]] - bound
        yield {
            "model": setting.approximation,
            "setting": setting.label,
            "epochs": experiment.epochs,
            "repetition": 0,
            "images": len(bound),
            "draws": draws,
            "bound": bound.mean(),
            "gap": gap.mean(),
            "gap_error": gap.std(ddof=1) / math.sqrt(len(gap)),
        }


def main(path: Path = GAPS) -> None:
    """Measure the models that are not stored, one after another."""
    experiment = build_run(single_job(SETTINGS)).experiment
    assert isinstance(experiment, PlanarFlows)
    stored = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["model", "setting"])
    for unit in UNITS:
        setting = experiment.settings[unit]
        if (setting.approximation, setting.label) in stored.set_index(["model", "setting"]).index:
            continue
        stored = pd.concat([stored, pd.DataFrame(measure(experiment, unit))], ignore_index=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, stored.to_csv(index=False, float_format="%.6g"))
        print(stored.tail(len(DRAWS)).to_string(), flush=True)


if __name__ == "__main__":
    main()
