"""The digest of each shipped configuration, without running it.

`python -m support.digests` prints all of them as JSON.
"""

from __future__ import annotations

import json

from bnnbench.config.assemble import build
from bnnbench.config.configs import options
from support.config import compose
from support.methods import OF_LIBRARIES, depth_overrides

NEEDS_FILES = ("csv",)
"""Data sets that are not part of the package."""

FIXED = "search=none method.noise_precision=1 method.prior_precision=1"

ANY_DATA = ("uci", "active_learning", "region_uci", "shifted_uci")
"""Experiments on the data set of the command line."""

BASE = {
    "dataset": "method=vadam",
    "divergence": "method=bbb dataset=diabetes",
    "likelihood": "method=bbb dataset=diabetes",
    "loss": "method=bbb dataset=diabetes",
    "prior": "method=bbb dataset=diabetes divergence.estimator=monte_carlo",
    "protocol": "method=bbb dataset=diabetes",
}
"""The other settings of the configurations of a group."""

CASES = {
    **{
        f"method {name}": " ".join([f"method={name}", "dataset=diabetes", *depth_overrides(name)])
        for name in options("method")
        if name not in OF_LIBRARIES
    },
    **{
        f"{group} {name}": f"{settings} {group}={name}"
        for group, settings in BASE.items()
        for name in options(group)
        if name not in NEEDS_FILES
    },
    "search none": f"method=vadam dataset=diabetes {FIXED}",
    "search grid": "method=vadam dataset=diabetes search=grid",
    "images digits": "experiment=latent_sizes images=digits",
    **{
        f"experiment {name}": f"experiment={name} {'dataset=diabetes' * (name in ANY_DATA)}"
        for name in options("experiment")
    },
}
"""Overrides of `bnnbench run` by name of the case."""


def digest_of(case: str) -> str:
    """Return the digest of the run of a case."""
    return build(compose(*CASES[case].split())).record.digest


if __name__ == "__main__":
    print(json.dumps({case: digest_of(case) for case in CASES}, indent=1))
