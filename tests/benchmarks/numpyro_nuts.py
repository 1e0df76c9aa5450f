"""Leapfrog steps per core-second of numpyro's jitted NUTS on the density of `leapfrogs.py`.

`leapfrogs.py` runs this script in an environment with numpyro, which is not a dependency of this
project. The script prints one number per repeat.
"""

from __future__ import annotations

import os
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC, NUTS


def main(file: str, repeats: int) -> None:
    data = np.load(file)
    x, y, start = (jnp.asarray(data[name]) for name in ("inputs", "targets", "start"))
    features, width = x.shape[1], int(data["width"])
    noise, prior = float(data["noise"]), float(data["prior"])
    cut = features * width

    def potential(w: jax.Array) -> jax.Array:
        hidden = jax.nn.relu(x @ w[:cut].reshape(features, width) + w[cut : cut + width])
        error = hidden @ w[cut + width : -1] + w[-1] - y
        return 0.5 * noise * jnp.sum(error**2) + 0.5 * prior * jnp.sum(w**2)

    kernel = NUTS(
        potential_fn=potential, step_size=float(data["step"]), max_tree_depth=9,
        adapt_step_size=False, adapt_mass_matrix=False,
    )  # fmt: skip
    sampler = MCMC(kernel, num_warmup=0, num_samples=100, progress_bar=False)
    for repeat in range(repeats + 1):
        started = time.process_time()
        key = jax.random.PRNGKey(repeat)
        sampler.run(key, init_params=start, extra_fields=("num_steps",))
        steps = int(sampler.get_extra_fields()["num_steps"].sum())
        if repeat:  # the first compiles
            print(steps / (time.process_time() - started), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
