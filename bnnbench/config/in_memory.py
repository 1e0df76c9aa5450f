"""Composes the configuration of one fit to rows in memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from bnnbench.config.compose import single_job
from bnnbench.config.instantiate import Config
from bnnbench.data.in_memory import NAME, InMemory
from bnnbench.types import UserError

SETTINGS_OF_A_FIT = (
    *("method", "likelihood", "loss", "divergence", "prior", "depth", "network"),
    *("training", "search", "protocol", "device", "seed"),
)
"""Groups whose settings affect a single fit; the others concern splits and files."""

SOURCE = f"{InMemory.__module__}.{InMemory.__qualname__}"

SAMPLES = "evaluation.samples"
"""Monte Carlo samples of a prediction: the only such setting in another group."""

FIXED = ("dataset=csv", "experiment=uci", "splits=all", "evaluation.out_of_fold=false")
"""Overrides of every fit; `dataset=csv` provides the defaults that the protocol reads."""


def compose_fit(settings: Sequence[str], rows: int) -> Config:
    """Return the resolved configuration of one fit; callers must not change it.

    Args:
        settings: overrides, as on the command line.
        rows: number of rows.

    Raises:
        UserError: if a setting is wrong, or has no effect on a fit.
    """
    for word in settings:
        key = word.partition("=")[0].lstrip("+~")
        if key.split(".")[0].split("/")[0] not in SETTINGS_OF_A_FIT and key != SAMPLES:
            raise UserError(
                f"{key} has no effect on a single fit (settings of a fit: {SAMPLES}, "
                f"{', '.join(SETTINGS_OF_A_FIT)}).",
                key,
                "no_effect",
            )
    return _composed(tuple(settings), rows)


@lru_cache(maxsize=256)  # composing takes longer than a small fit
def _composed(settings: tuple[str, ...], rows: int) -> Config:
    job = single_job([*FIXED, *settings])
    job.config.dataset = {
        "_target_": SOURCE,
        "rows": rows,
        "name": NAME,  # presets take published settings by the name of the data set
        "protocol": job.config.dataset.protocol,
    }
    return job.resolved()
