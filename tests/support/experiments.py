"""Tiny settings and wrong settings of every experiment, for the tests of their contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bnnbench.config.configs import options

NAMES = tuple(sorted(options("experiment")))
"""Every option of the group `experiment`."""


@dataclass(frozen=True)
class Case:
    """How an experiment is tested.

    Attributes:
        settings: overrides of a run of a second or two, with all kinds of units.
        fewer: further overrides that request only some of these units.
        rounding: whether a unit may depend on the others by rounding, because they form a stack.
        wrong: wrong overrides, several separated by a space, with the code of the error; the error
            is about the first of them, or about the setting in front of a colon.
    """

    settings: tuple[str, ...]
    fewer: tuple[str, ...] = ()
    rounding: bool = False
    wrong: Mapping[str, str | None] | None = None


def own(*settings: str) -> tuple[str, ...]:
    """Return overrides of settings of the experiment itself."""
    return tuple(f"experiment.{setting}" for setting in settings)


TINY_FIT = (
    *("training.epochs=1", "training.final_epochs=1", "training.samples=2"),
    *("training.batch_size=64", "evaluation.samples=4", "network.width=3"),
)


def splits(*settings: str) -> Case:
    """Return the case of an experiment on two splits of a bundled data set."""
    given = ("dataset=diabetes", *settings, *TINY_FIT, "splits=2")
    return Case(given, fewer=("splits=[1]",), rounding=True)


NO_SEEDED_SPLITS = "~dataset.seeded_splits"
FIXED = ("method=map", "method.prior_precision=1", "method.noise_precision=1")

REGIONS = splits(*FIXED, "search=none")

TINY_IMAGES = (
    *("epochs=2", "repetitions=2", "hidden=[8]"),
    *("importance_samples=12", "evaluated_images=10"),
)

WRONG_IMAGES: Mapping[str, str | None] = {
    "images.binarisation=half": None,
    "images.split_seed=-1": None,
    "dataset=boston": "no_effect",
}

CASES: Mapping[str, Case] = {
    "uci": splits(
        "method=vadam", "search.iterations=2", "search.initial_points=2", "search.folds=2"
    ),
    "book_uci": splits("method=pbp", "search=none"),
    "gal_uci": splits("search.iterations=2", "search.initial_points=2", "search.folds=2"),
    "vr_uci": splits("search=none", *FIXED[1:]),
    "toy_1d": splits(*FIXED),
    "gold_standard": splits(*FIXED),
    "gold_converged": splits(*FIXED),
    "gold_toy": splits(*FIXED),
    "gp_toy": splits(*FIXED[:2]),
    "gvi_alpha": splits("divergence.alpha=0.5", NO_SEEDED_SPLITS),
    "gvi_competitors": splits(*FIXED[:2], NO_SEEDED_SPLITS),
    "gvi_uci": splits("divergence=renyi_2", NO_SEEDED_SPLITS),
    "region_uci": replace(
        REGIONS,
        wrong={
            "experiment.region=middle": None,
            "experiment.inside=1": None,
            "experiment.inside=-0.1": None,
            "splits=14": "count_out_of_range",
        },
    ),
    "region_posterior": REGIONS,
    "shifted_uci": replace(
        REGIONS,
        wrong={
            "experiment.kinds=[permuted,noisy]": None,
            "experiment.kinds=[]": "not_a_list",
            "experiment.strengths=[-1,2]": None,
            "experiment.strengths=[2,1]": "not_increasing",
        },
    ),
    "shifted_posterior": REGIONS,
    "active_learning": Case(
        ("dataset=diabetes", *FIXED[:1], *TINY_FIT, *own("repetitions=3", "additions=2", "pool=9"),
         "splits=2"),
        fewer=("splits=[1]",),
        wrong={
            "experiment.arms=[variance]": "no_random",
            "experiment.start=1": None,
            "experiment.test=1000": "too_many_rows",
            "experiment.pool=1": "too_small",
            "experiment.repetitions=1": None,
            "search: search=bayesian_optimisation method.prior_precision=null "
            "dataset.protocol.fixed.prior_precision=null": "searched",
        },
    ),
    "bandit": Case(
        (*FIXED[:1], *TINY_FIT, *own("steps=12", "batch=5", "repetitions=3"), "splits=2"),
        fewer=("splits=[1]",),
        wrong={
            "experiment.arms=[thompson]": "no_greedy",
            "experiment.repetitions=1": None,
            "experiment.delta=1": None,
            "experiment.noise=0": None,
            "experiment.steps=0": None,
            "experiment.batch=0": None,
            "experiment.epsilon=2": None,
            "dataset=boston": "no_effect",
            "search: search=bayesian_optimisation "
            "experiment.fixed.prior_precision=null": "searched",
        },
    ),
    "linear_regression": Case(
        ("training.epochs=20", "dataset.rows=10"),
        wrong={
            "method=pbp": None,
            "method=mc_dropout": None,
            "network.depth: method=cavi depth=1": None,
            "method.prior_precision: method=cavi method.prior_precision=null": None,
            "method.prior_precision: method=laplace method.prior_precision=null "
            "method.prior_precision_by=marginal_likelihood": None,
            "prior=laplace divergence.estimator=monte_carlo": None,
            "likelihood: method=cavi loss=beta": "not_accepted",
            "network.depth: depth=1": None,
            "dataset=diabetes method.noise_precision=1": None,
            "likelihood: loss=beta": None,
            "dataset.rows=1": None,
            "dataset.test_rows=0": None,
            "dataset.slope=steep": None,
            "dataset.intercept=inf": None,
            "dataset.noise_precision=-1": None,
            "dataset.data_seed=-1": None,
            "dataset.data_seed=4294967296": "too_large",
            "dataset.high: dataset.low=5": "not_greater",
            "method.prior_precision=0": None,
        },
    ),
    "clutter": Case(
        own(
            "draws=[2,20]", "repetitions=2", "orders=3", "data_sets=2",
            "passes=20", "sizes=[5,6]",
        ),
        fewer=own("sizes=[6]"),
        wrong={
            "experiment.draws=[100,10]": "not_increasing",
            "experiment.sizes=[3000]": "too_large",
            "experiment.sizes=[2.5]": None,
            "experiment.tolerance=0": None,
            "dataset=boston": "no_effect",
        },
    ),
    "conjugate_pairs": Case(
        own("sizes=[1,3]"),
        fewer=own("sizes=[3]"),
        wrong={
            "experiment.precision_range=[4,1]": "not_increasing",
            "experiment.sizes=[3,3]": "not_distinct",
            "seed=1": "no_effect",
        },
    ),
    "em_factory": Case(
        own("starts=2", "iterations=20"),
        fewer=own("starts=1"),
        wrong={
            "experiment.products=5000": "too_large",
            "experiment.data_seed: experiment.rate_scale=0.01": None,
            "method=bbb": "no_effect",
        },
    ),
    "expectation_maximisation": Case(
        own("starts=2", "iterations=50", "points=30"),
    ),
    "gaussian_mixture": Case(
        own(
            "few_points=5", "many_points=60", "starts=2", "iterations=20",
            "batch=20", "passes=2", "repetitions=2",
        ),
        wrong={
            "experiment.few_points=16": "too_large",
            "experiment.few_points=11 experiment.few_means=[1.0,2.0,3.0]": "too_large",
            "experiment.batch: experiment.many_points=40": "too_large",
        },
    ),
    "gradient_variance": Case(
        own(
            "draws=100", "rows=6", "minibatch=2", "scales=[1]",
            "ascent_steps=5", "repetitions=2",
        ),
        wrong={
            "experiment.draws=10": None,
            "experiment.scales=1": "not_a_list",
            "experiment.scales=[0]": None,
            "experiment.frequency=60": None,
            "experiment.minibatch=21": "cannot_enumerate",
            "experiment.minibatch=10": "cannot_enumerate",
            "experiment.draws=10000000": "too_large",
            "experiment.samples_per_step=1": None,
            "experiment.repetitions=0": None,
            "experiment.learning_rate=-1": None,
            "experiment.noise_precision=0": None,
            "experiment.data_seed=-1": None,
        },
    ),
    "kl_shapes": Case(
        own("separations=[0,3]", "weights=[0.5]", "scales=[1]", "orders=[1,2]"),
        wrong={
            "experiment.separations=[-1]": None,
            "experiment.separations=[8]": None,
            "experiment.separations=2": "not_a_list",
            "experiment.orders=[]": "not_a_list",
            "experiment.weights=[1]": None,
            "experiment.scales=[0]": None,
            "experiment.orders=[one]": None,
            "experiment.correlation=1": None,
        },
    ),
    "distortion_rate": Case(
        own("betas=[0.5,2]", *TINY_IMAGES),
        wrong={
            **WRONG_IMAGES,
            "experiment.betas=[2,1]": "not_increasing",
        },
    ),
    "latent_sizes": Case(
        own("latents=[2,3]", *TINY_IMAGES),
        wrong=WRONG_IMAGES,
    ),
    "planar_flows": Case(
        own("lengths=[0,2]", "training_samples=[3]", *TINY_IMAGES),
        wrong=WRONG_IMAGES,
    ),
    "semi_supervised": Case(
        own("labels=[10,20]", "epochs=1", "supervised_epochs=2", "repetitions=2", "hidden=[8]"),
        wrong={
            **WRONG_IMAGES,
            "experiment.labels=[15]": "not_a_multiple",
            "experiment.enumerated=[5]": "not_a_multiple",
            "experiment.supervised_epochs=10": "too_small",
            "experiment.epoch_ends=labelled": "no_effect",
        },
    ),
    "noise_precision": Case(
        (*own("gradient_steps=5", "orders=2", "powers=[0.5,1]"), "rows=4"),
        wrong={
            "rows=1": None,
            "rows=100000": "too_large",
            "experiment.powers=[1,0.5]": "not_increasing",
            "method=bbb": "no_effect",
        },
    ),
    "sprinkler": Case(
        own(
            "pretraining_steps=4", "estimator_steps=2", "iterations=6", "samples=4",
            "evaluate_every=3", "repetitions=2",
        ),
        fewer=own("repetitions=1"),
        rounding=True,
        wrong={
            "experiment.schedule=null": None,
            "experiment.numerics=stable experiment.estimator=relu_ratio": "no_stable_form",
            "experiment.estimator=ratio experiment.numerics=stable": "same_algorithm",
            "experiment.repetitions=1001": "too_large",
            "experiment.samples=20001": "too_large",
            "experiment.data=[1,1]": "not_distinct",
            "method=bbb": "no_effect",
            "divergence=tv": "no_effect",
        },
    ),
    "adversarial_vb": Case(
        own(
            "pretraining_steps=2", "estimator_steps=1", "iterations=3", "evaluate_every=2",
            "repetitions=2", "width=0.03", "batch_size=8", "latents=[2]",
        ),
        wrong={
            "images.binarisation=half": None,
            "experiment.latents=[10,2]": "not_increasing",
            "experiment.estimators=[ratio,ratio]": "not_distinct",
            "experiment.estimators=[stable] experiment.divergences=[kl_posterior_prior]":
                "no_configuration",
            "experiment.learning_rates=[0.001]": "not_one_each",
            "dataset=boston": "no_effect",
            "divergence=tv": "no_effect",
        },
    ),
    "estimator_parametrisations": Case(
        own("points=100"),
    ),
}  # fmt: skip
"""The case of every experiment."""
