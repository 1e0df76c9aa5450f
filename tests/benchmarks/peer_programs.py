"""The programs that `peers.py` compares, one process each: `python peer_programs.py ARGUMENTS`.

Each function fits to inputs `[N, D]` and targets `[N]`, and predicts inputs `[M, D]`. It follows
the README or tutorials of its library, and imports nothing else, so that the memory is that of the
library. All but `bnnbench`, which standardises by itself, get standardised float32 arrays.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

EPOCHS, BATCH, WIDTH, RATE, BETAS = 40, 32, 50, 0.01, (0.9, 0.99)
SAMPLES, TRAINING_SAMPLES, MEMBERS = 100, 10, 5
NOISE, PRIOR, DROPOUT = 10.0, 1.0, 0.05
BURN_IN, SWAG_RATE = EPOCHS // 2, 0.005
EVIDENCE_STEPS = 100
CHAINS, TRAINED, WARM_UP, DRAWS, THINNING = 4, 200, 5000, 2000, 2

Array = np.ndarray
Moments = tuple[Array, Array]
"""Means and standard deviations of the components of each point's mixture, `[M, S]`."""


def bnnbench(x: Array, y: Array, new: Array, settings: dict[str, Any], **arguments: Any) -> Moments:
    from bnnbench import BNNRegressor

    common = {"search": "none", "training.batch_size": BATCH, "evaluation.samples": SAMPLES}
    arguments = {"protocol": "book", "epochs": EPOCHS, "width": WIDTH} | arguments
    model = BNNRegressor(settings=common | settings, **arguments).fit(x, y)
    mixture = model.predict_distribution(new).mixture
    return mixture.loc, np.broadcast_to(mixture.deviation, mixture.loc.shape)


def loader_of(x: Array, y: Array, **options: Any) -> Any:
    """Return a DataLoader of shuffled minibatches."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.from_numpy(x), torch.from_numpy(y)[:, None])
    return DataLoader(data, BATCH, shuffle=True, **options)


def adam(decay: float = 0.0) -> Any:
    """Return a factory of Adam, with weight decay."""
    import torch

    return partial(torch.optim.Adam, lr=RATE, betas=BETAS, weight_decay=decay)


def lightning_network(x: Array, dropout: float = 0.0) -> Any:
    """Return a network that predicts a mean and a log-variance."""
    from lightning_uq_box.models import MLP

    return MLP(dropout, n_inputs=x.shape[1], n_hidden=[WIDTH], n_outputs=2)


def lightning_fit(module: Any, x: Array, y: Array, epochs: int = EPOCHS) -> Any:
    """Train as in the tutorials, but without validation, logs and checkpoints."""
    from lightning import LightningDataModule, Trainer
    from lightning_uq_box.datamodules.utils import collate_fn_tensordataset

    data, loader = LightningDataModule(), loader_of(x, y, collate_fn=collate_fn_tensordataset)
    data.train_dataloader = lambda: loader
    off = ("logger", "enable_checkpointing", "enable_progress_bar", "enable_model_summary",
           "limit_val_batches", "num_sanity_val_steps")  # fmt: skip
    trainer = Trainer(accelerator="cpu", max_epochs=epochs, **dict.fromkeys(off, 0))
    trainer.fit(module, datamodule=data)
    return trainer


def predicted_moments(outputs: Any) -> Moments:
    """Return the moments of means and log-variances `[M, 2, S]`."""
    mean, log_variance = outputs.detach().numpy().transpose(1, 0, 2)
    return mean, np.exp(log_variance / 2)


def sampled(module: Any, new: Array) -> Any:
    """Return outputs of sampled networks, `[M, outputs, S]`."""
    import torch

    with torch.no_grad():
        return torch.stack([module(torch.from_numpy(new)) for _ in range(SAMPLES)], -1)


def lightning_mc_dropout(x: Array, y: Array, new: Array) -> Moments:
    from lightning_uq_box.uq_methods import NLL, MCDropoutRegression

    network = lightning_network(x, DROPOUT)
    module = MCDropoutRegression(network, SAMPLES, NLL(), optimizer=adam(PRIOR / len(x)))
    lightning_fit(module, x, y)
    module.activate_dropout()
    return predicted_moments(sampled(module, new))


def lightning_bbb(x: Array, y: Array, new: Array) -> Moments:
    from lightning_uq_box.uq_methods import NLL, BNN_VI_ELBO_Regression

    module = BNN_VI_ELBO_Regression(
        lightning_network(x), NLL(), burnin_epochs=0, num_mc_samples_train=TRAINING_SAMPLES,
        num_mc_samples_test=SAMPLES, prior_sigma=PRIOR**-0.5, optimizer=adam(),
    )  # fmt: skip
    lightning_fit(module, x, y)
    return predicted_moments(sampled(module, new))


def lightning_deep_ensemble(x: Array, y: Array, new: Array) -> Moments:
    import torch
    from lightning_uq_box.uq_methods import DeepEnsembleRegression, MVERegression

    members, optimizer = [], adam(PRIOR / len(x))
    with tempfile.TemporaryDirectory() as folder:
        for k in range(MEMBERS):
            member = MVERegression(lightning_network(x), burnin_epochs=0, optimizer=optimizer)
            members.append({"base_model": member, "ckpt_path": f"{folder}/{k}.ckpt"})
            lightning_fit(member, x, y).save_checkpoint(members[-1]["ckpt_path"])
        ensemble = DeepEnsembleRegression(members)
        return predicted_moments(ensemble.generate_ensemble_predictions(torch.from_numpy(new)))


def lightning_swag(x: Array, y: Array, new: Array) -> Moments:
    import torch
    from lightning_uq_box.uq_methods import NLL, MVERegression, SWAGRegression

    optimizer = adam(PRIOR / len(x))
    first = MVERegression(lightning_network(x), burnin_epochs=0, optimizer=optimizer)
    lightning_fit(first, x, y, BURN_IN)
    module = SWAGRegression(
        first.model, max_swag_snapshots=EPOCHS - BURN_IN, snapshot_freq=len(loader_of(x, y)),
        num_mc_samples=SAMPLES, swag_lr=SWAG_RATE, loss_fn=NLL(),
    )  # fmt: skip
    lightning_fit(module, x, y, EPOCHS - BURN_IN)
    return predicted_moments(module.sample_predictions(torch.from_numpy(new)))


def train(loss: Callable[[Any, Any], Any], optimizer: Any, x: Array, y: Array) -> None:
    """Minimise a loss of minibatches."""
    loader = loader_of(x, y)
    for _ in range(EPOCHS):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss(inputs, targets).backward()
            optimizer.step()


def bayesian_torch_bbb(x: Array, y: Array, new: Array) -> Moments:
    import torch
    from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss
    from torch import nn

    model = nn.Sequential(nn.Linear(x.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))
    dnn_to_bnn(model, {
        "prior_mu": 0.0, "prior_sigma": PRIOR**-0.5, "posterior_mu_init": 0.0,
        "posterior_rho_init": -3.0, "type": "Reparameterization", "moped_enable": False,
        "moped_delta": 0.5,
    })  # fmt: skip

    def loss(inputs: Any, targets: Any) -> Any:
        outputs = torch.stack([model(inputs) for _ in range(TRAINING_SAMPLES)])
        error = NOISE / 2 * (outputs - targets).square().mean()
        return error + get_kl_loss(model) / BATCH

    train(loss, adam()(model.parameters()), x, y)
    mean = sampled(model, new)[:, 0].numpy()
    return mean, np.full_like(mean, NOISE**-0.5)


def laplace_torch(x: Array, y: Array, new: Array) -> Moments:
    import torch
    from laplace import Laplace
    from torch import nn

    model = nn.Sequential(nn.Linear(x.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1))
    # With Adam, these are the steps of NOISE / 2 times the error plus the prior's penalty.
    optimizer = adam(2 * PRIOR / (NOISE * len(x)))(model.parameters())
    train(lambda inputs, targets: nn.functional.mse_loss(model(inputs), targets), optimizer, x, y)
    posterior = Laplace(model, "regression", subset_of_weights="all", hessian_structure="kron")
    posterior.fit(loader_of(x, y))
    prior, noise = (torch.ones(1, requires_grad=True) for _ in range(2))
    evidence_optimizer = torch.optim.Adam([prior, noise], lr=0.1)
    for _ in range(EVIDENCE_STEPS):
        evidence_optimizer.zero_grad()
        (-posterior.log_marginal_likelihood(prior.exp(), noise.exp())).backward()
        evidence_optimizer.step()
    mean, variance = posterior(torch.from_numpy(new))
    deviation = (variance[:, 0] + posterior.sigma_noise**2).sqrt()
    return mean.detach().numpy(), deviation.detach().numpy()


def bde_mile(x: Array, y: Array, new: Array) -> Moments:
    from bde import BdeRegressor
    from bde.loss import GaussianNLL

    model = BdeRegressor(
        hidden_layers=[WIDTH], n_members=CHAINS, loss=GaussianNLL(), epochs=TRAINED, lr=RATE,
        validation_split=None, warmup_steps=WARM_UP, n_samples=DRAWS, n_thinning=THINNING,
        prior_kwargs={"scale": PRIOR**-0.5},
    )  # fmt: skip
    model.fit(x=x, y=y[:, None])
    outputs = np.asarray(model.predict(new, raw=True), float)  # [chains, draws, M, 2]
    mean, scale = outputs.reshape(-1, *outputs.shape[2:]).transpose(2, 1, 0)
    return mean, np.logaddexp(0, scale)


def standardised(fit: Callable[..., Moments], x: Array, y: Array, new: Array) -> Moments:
    """Fit in standardised units, and return moments in the units of the targets."""
    centre, scale, unit = x.mean(0), x.std(0), y.std()
    parts = (x - centre) / scale, (y - y.mean()) / unit, (new - centre) / scale
    mean, deviation = fit(*(part.astype(np.float32) for part in parts))
    return y.mean() + unit * mean, unit * deviation


def main(program: str, module: str, settings: dict[str, Any], data: str, outputs: str) -> None:
    """Import a module, run a function with `settings` on splits, and save its predictions.

    Prints the core seconds of the import and of each split. `data` is a file with the arrays `x_0`,
    `y_0` and `new_0` of the first split, and so on; `outputs` gets `mean_0`, `deviation_0`, ...
    """
    started = time.process_time()
    import_module(module)
    clocks = [time.process_time()]
    fit: Callable[..., Moments] = partial(globals()[program], **settings)
    fit = fit if program == "bnnbench" else partial(standardised, fit)
    arrays, found = np.load(data), {}
    for k in range(len(arrays.files) // 3):
        if "torch" in sys.modules:
            sys.modules["torch"].manual_seed(k)
        moments = fit(*(arrays[f"{name}_{k}"] for name in ("x", "y", "new")))
        found[f"mean_{k}"], found[f"deviation_{k}"] = moments
        clocks.append(time.process_time())
    np.savez(outputs, **found)
    print(json.dumps([clocks[0] - started, np.diff(clocks).tolist()]))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
