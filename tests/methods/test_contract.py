"""Checks of the method interface, for every method and variant.

The checks are those of `bnnbench check`; `tests/checking` tests that each detects violations. Fits
are shared by the tests of a case, which pytest runs one after the other.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from support.config import compose
from support.methods import (
    ESTIMATOR_KEYS,
    METHODS,
    PRESETS,
    Case,
    base_option,
    build_method,
    cases,
    class_of,
    compiled_cases,
    likelihoods_of,
    loss,
    plain_cases,
    quick_cases,
    takes_likelihood,
)
from support.quick import slow_except

from bnnbench import metrics
from bnnbench.checking.as_in_runs import LEAKAGE
from bnnbench.checking.method import (
    METHOD,
    arguments_are_not_modified,
    huge_steps_are_reported,
    padding_has_no_effect,
    replicas_are_independent,
)
from bnnbench.checking.small_fits import (
    COUNTS,
    HYPER,
    SEEDS,
    MethodUnderTest,
    predict,
    small_task,
    training_set,
)
from bnnbench.config.configs import options
from bnnbench.constraints import Text, constraints_of
from bnnbench.cpp.library import library
from bnnbench.methods.shared.contract import Method, Posterior
from bnnbench.methods.shared.minibatches import minibatches_by_epoch
from bnnbench.methods.shared.trainer import StochasticMethod
from bnnbench.random_streams import Streams
from bnnbench.types import Prediction, TrainingSet, UserError

ABOUT_DATA = (
    replicas_are_independent,
    padding_has_no_effect,
    arguments_are_not_modified,
    huge_steps_are_reported,
)
OF_ANY_LIKELIHOOD = [LEAKAGE, *(check for check in METHOD if check.run in ABOUT_DATA)]
"""Checks of data handling, which do not depend on the likelihood."""


IN_CI = ("ivon", "mc_dropout", "swag", "vadam")
"""Methods whose updates are traced by `make ci`; the others are slow tests."""


QUICK = ("bbb", "deep_ensemble", "gp", "laplace", "linear", "pbp", "sgld", "tagi", "vadam")
"""Methods whose contract `make test` checks; `make ci` checks one of each class."""


def marked(case: Case) -> Any:
    """Mark cases for CI, or as slow if another case of their class is checked."""
    if case not in quick_cases():
        return pytest.param(case, marks=pytest.mark.slow)
    return case if case.option in QUICK else pytest.param(case, marks=pytest.mark.ci)


@pytest.fixture(scope="module", params=[marked(case) for case in cases()], ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def trial(case: Case) -> MethodUnderTest:
    return MethodUnderTest(case.method)


@pytest.fixture(scope="module")
def method(case: Case) -> Method:
    return case.method


@pytest.fixture(scope="module")
def data(trial: MethodUnderTest) -> TrainingSet:
    return trial.data


@pytest.fixture(scope="module")
def posterior(trial: MethodUnderTest) -> Posterior:
    return trial.posterior


def test_all_checks_pass(case: Case, trial: MethodUnderTest) -> None:
    """All checks in one test, since a thousand separate tests would mostly cost overhead."""
    skipped = OF_ANY_LIKELIHOOD if case.likelihood != "gaussian" else ()
    checks = [check for check in (*METHOD, LEAKAGE) if check not in skipped]
    results = {check.name: check.run(trial) for check in checks}
    assert {name: failure for name, failure in results.items() if failure} == {}


def test_predicted_noise_is_that_of_the_noise_precision(
    method: Method, trial: MethodUnderTest
) -> None:
    assert set(trial.posterior.hyper) <= set(HYPER)
    if "noise_precision" in method.hyper_names:
        noise = trial.prediction.noise_variance()
        torch.testing.assert_close(noise, torch.full((3, 6), 1 / 5.0, dtype=torch.float64))


def test_samples_do_not_depend_on_the_size_of_the_stack(
    method: Method, data: TrainingSet, posterior: Posterior, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Larger stacks are predicted in smaller chunks, with the same noise."""

    def predicted() -> Prediction:
        streams = Streams(SEEDS, data.groups, dtype=torch.float64)
        return method.predict(posterior, data.inputs, 20, streams)

    whole = predicted()
    for name in ("bnnbench.methods.shared.chunking", type(method).__module__):
        if hasattr(sys.modules[name], "MAX_ACTIVATIONS"):
            monkeypatch.setattr(sys.modules[name], "MAX_ACTIVATIONS", 1)
    pieces = predicted()
    torch.testing.assert_close(pieces.loc, whole.loc)
    torch.testing.assert_close(pieces.variance, whole.variance)


def traced_cases() -> Iterator[Any]:
    """Yield the cases whose updates are traced: one of each class and likelihood.

    The likelihood and the loss are the same for all methods. The last variant of each class is
    compiled in tests/methods/shared/test_compilation.py.
    """
    for case in cases():
        kind = class_of(case.option)
        if not issubclass(kind, StochasticMethod) or "update" not in vars(kind):
            continue
        if (case.likelihood, case.loss) == ("heteroscedastic", "nll"):
            continue
        if case.likelihood == "gaussian" and takes_likelihood(kind) and case.option != "bbb":
            continue
        if case not in compiled_cases().values():
            marks = pytest.mark.ci if case.option in IN_CI else pytest.mark.slow
            yield pytest.param(case, marks=marks)


@pytest.mark.parametrize("case", [*traced_cases()], ids=str)
def test_update_is_a_single_graph(case: Case) -> None:
    """The traced update gives the same result; compiling it would take minutes."""
    method = case.method
    assert isinstance(method, StochasticMethod)
    torch._dynamo.reset()  # torch limits the number of graphs
    step = one_step(method, training_set())

    def traced(*arguments: object) -> dict[str, torch.Tensor]:
        return method.update(*arguments)  # type: ignore[arg-type]

    with torch.no_grad():
        expected = method.update(*step)
        got = torch.compile(traced, backend="aot_eager", dynamic=False, fullgraph=True)(*step)
    for key, value in expected.items():
        torch.testing.assert_close(got[key], value, rtol=1e-7, atol=1e-9)


def one_step(method: StochasticMethod, data: TrainingSet) -> tuple[Any, ...]:
    """Return the arguments of the first update, where entries of the state may share a tensor."""
    task = replace(small_task(method, data, epochs=1), outputs=method.likelihood.outputs)
    hyper = {name: torch.full((data.replicas, 1), HYPER[name]).double() for name in HYPER}
    (batch, _), *_ = next(minibatches_by_epoch(task, method))
    noise = method.sample_noise(task.mlp, 8, task.training.samples, task.streams)
    return task.mlp, task.training, method.init(task), hyper, batch, noise


# --- settings


@pytest.mark.ci
@pytest.mark.parametrize("option", METHODS)
def test_every_setting_has_a_valid_range(option: str) -> None:
    """Booleans, whole numbers, words and intervals; `tests/test_constraints.py` tests each kind."""
    method = Case(option).method
    unchecked = {"likelihood", "divergence"}
    assert constraints_of(type(method)).keys() == {f.name for f in fields(method)} - unchecked
    for name, (_, constraints) in constraints_of(type(method)).items():
        for wrong in (object(), math.nan, *["another"] * (constraints != (Text(),))):
            with pytest.raises(UserError) as error:
                replace(method, **{name: wrong})
            assert error.value.setting == f"method.{name}", (name, wrong)


# --- likelihoods and losses


@pytest.mark.parametrize(
    "one",
    slow_except(
        [case for name in METHODS for case in plain_cases(name)],
        *map(Case, ("bbb", "deep_ensemble", "laplace", "mc_dropout", "swag", "tagi", "vadam")),
    ),
    ids=str,
)
def test_it_supports_every_likelihood_and_loss(one: Case) -> None:
    """Refusals of unsupported ones are tested in tests/experiment/splits/test_method_choices.py."""
    data = training_set()
    noise_precision = getattr(one.method, "noise_precision", None)
    # Sampled noise precisions are only conjugate to nll, which the evidence needs too.
    by_evidence = getattr(one.method, "noise_precision_by", None) == "marginal_likelihood"
    sampled = noise_precision == "sampled"
    nll_only = sampled or by_evidence or not takes_likelihood(type(one.method))
    losses = ["nll"] if nll_only else sorted(options("loss"))
    for likelihood in likelihoods_of(one):
        for name in losses:
            fitted = build_method(replace(one, likelihood=likelihood, loss=name))
            posterior = fitted.fit(small_task(fitted, data, epochs=2))
            prediction = predict(fitted, posterior, data)
            noise = prediction.noise_variance()
            assert not posterior.diverged.any()
            assert noise.shape == prediction.mean().shape and (noise > 0).all()
            varies = noise.amax(1) > (1 + 1e-9) * noise.amin(1)  # up to rounding
            if fitted.trains_network:
                predicted = getattr(fitted, "predicts_noise", likelihood != "gaussian")
                assert (varies == predicted).all()
            real = torch.ones(3, 6, dtype=torch.bool)
            for score in metrics.SCORE_FUNCTIONS.values():
                assert score(prediction, data.targets[:, :6], real).isfinite().all()
            if takes_likelihood(type(fitted)) and not isinstance(noise_precision, str):
                has_precision = "noise_precision" in posterior.hyper
                assert has_precision == (likelihood == "gaussian")
            assert loss(name).label == name


@pytest.mark.ci
@pytest.mark.parametrize("option", METHODS)
def test_searched_hyperparameters_have_bounds(option: str) -> None:
    config = compose(f"method={option}", "likelihood=gaussian")
    bounds = config["dataset"]["protocol"]["bounds"] | config["method"]["protocol"]["bounds"]
    method = Case(option).method
    assert set(method.hyper_names) - method.fixed_hyper().keys() <= bounds.keys()
    assert all(0 < low < high for low, high in bounds.values())


# --- presets


@pytest.mark.ci
@pytest.mark.parametrize("option", PRESETS)
def test_a_preset_is_its_base_with_another_protocol(option: str) -> None:
    """The tests of the base therefore cover it; `test_estimators.py` covers those of libraries."""
    preset, base = (
        compose(f"method={name}", "likelihood=gaussian")["method"]
        for name in (option, base_option(option))
    )
    for key in ("protocol", *ESTIMATOR_KEYS):
        preset.pop(key, None)
        base.pop(key, None)
    assert preset.pop("label") == option
    assert options("method")[option] != options("method")[base_option(option)]
    assert preset == {name: value for name, value in base.items() if name != "label"}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("option", "small", "large", "final_epochs"),
    [("bbb_x1", 10, 5, 40), ("bbb_x2", 20, 10, 40), ("mc_dropout_x1", 1, 1, 400),
     ("mc_dropout_x10", 10, 10, 40), ("pbp_200", 1, 1, 200)],
)  # fmt: skip
def test_presets_of_the_book_have_its_training_settings(
    option: str, small: int, large: int, final_epochs: int
) -> None:
    """Table 4.2: samples per step on small and large data sets; Fig. 4.13 for PBP."""
    for dataset, samples in (("yacht", small), ("wine", large)):
        training = compose(f"method={option}", f"dataset={dataset}")["training"]
        assert (training["samples"], training["epochs"]) == (samples, 40)
        assert training["final_epochs"] == final_epochs


def test_every_option_is_covered() -> None:
    assert {*METHODS, *PRESETS} == set(options("method"))
    assert {base_option(option) for option in PRESETS} <= set(METHODS)
    assert {case.option for case in cases()} == set(METHODS)
    assert max(COUNTS) == training_set().inputs.shape[1]


@pytest.mark.skipif(library().code is None, reason="no compiler")
@pytest.mark.parametrize("name", [*METHODS, *PRESETS])
def test_the_summary_says_whether_bits_depend_on_the_processor(name: str) -> None:
    summary = options("method")[name]
    assert summary.endswith(" *") == (not build_method(Case(name)).portable)
