"""Every claim on data that confirm it, on data that do not, and without data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.decisions import settled

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.experiment.store.record import Record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.files import checksum
from bnnbench.results.claims.claims import NOT_JUDGED, CheckResult, NotTestable, TooFew
from bnnbench.suites.lam_density_ratio.comparison import claims, rules
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    SprinklerEvidence,
    SprinklerRun,
    evidence_of,
    thesis_evidence,
)
from bnnbench.suites.lam_density_ratio.comparison.thesis import (
    ThesisCell,
    published_values,
    thesis_settings,
)
from bnnbench.suites.lam_density_ratio.names import KIND, OK, STUCK

ITERATIONS = np.array([0, 100, 200, 300, 400, 500, 600, 1000, 1500, 2000])

D, R, T = rules.estimators("undertrained", "prior", "gan")
JOINT = replace(T, contrast="joint")
KL = replace(T, divergence="kl_posterior_prior")


@pytest.fixture(autouse=True)
def folder_of_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `run_of` write its records to a new folder."""
    monkeypatch.chdir(tmp_path)


def holds(
    check: Callable[..., CheckResult], evidence: SprinklerEvidence, **arguments: Any
) -> bool | str | None:
    """Return whether a claim holds, None if this is undecided, or that it is not judged."""
    try:
        return settled(check(evidence, **arguments)[0])
    except TooFew:
        return None
    except NotTestable:
        return NOT_JUDGED


def spread(mean: float, std: float, size: int = 30) -> list[float]:
    """Return numbers with this mean and standard deviation."""
    values = np.linspace(-1, 1, size)
    return (mean + std * (values - values.mean()) / values.std()).tolist()


def run_of(
    own: ThesisCell,
    ends: list[float],
    stuck: int = 0,
    curves: Mapping[str, np.ndarray] | None = None,
    **changed: Any,
) -> SprinklerRun:
    """Return a run, whose only file is its record, with the same curves in all repetitions."""
    settings = thesis_settings(own.setting, own.contrast)
    metadata = {
        "schedule": {"optimal": "published"}.get(own.setting, own.setting),
        "contrast": own.contrast,
        "divergence": own.divergence,
        "estimator": own.estimator,
        "numerics": "published",
        "observations": "data",
        "data": [0.0, 5.0, 8.0, 12.0, 50.0],
        **{name: values[0] for name, values in settings.items()},
        **changed,
    }
    repetitions = pd.DataFrame({
        "repetition": range(len(ends) + stuck),
        "average_kl": [*ends, *([np.nan] * stuck)],
        "kl": np.linspace(0.002, 0.004, len(ends) + stuck),
        "status": [OK] * len(ends) + [STUCK] * stuck,
    })  # fmt: skip
    shapes = {"average_kl": 2 - ITERATIONS / 4000, "estimator_loss": 0 * ITERATIONS, "nelbo": 4.0}
    columns = {"iteration": ITERATIONS, **shapes, **(curves or {})}
    rows = pd.DataFrame(
        {"repetition": k, **dict(zip(columns, values, strict=True))}
        for k in range(len(ends))
        for values in zip(*(np.broadcast_to(one, 10) for one in columns.values()), strict=True)
    ).reindex(columns=["repetition", *columns])
    digest = checksum(f"{own}{sorted(metadata.items(), key=str)}".encode())
    folder = RunFolder(Path(digest))
    folder.root.mkdir(exist_ok=True)
    identity = {name: value for name, value in metadata.items() if name != "schedule"}
    write_record(folder, Record(KIND, digest, metadata, identity))
    return SprinklerRun(repetitions, rows, digest=digest, metadata=metadata, folder=folder)


def group(*means: float, std: float = 0.01, size: int = 30) -> SprinklerEvidence:
    """Return evidence of undertrained D, r and T with the prior contrast and GAN."""
    samples = [Sample(mean, std, size) for mean in means]
    return SprinklerEvidence({"9.1": dict(zip((D, R, T), samples, strict=False))})


@pytest.mark.parametrize(
    ("better", "other", "expected"),
    [
        (Sample(1.30, 0.01, 30), Sample(1.40, 0.02, 30), True),
        (Sample(1.30, 0.04, 30), Sample(1.40, 0.02, 30), False),  # spreads more
        (Sample(1.30, 0.022, 30), Sample(1.40, 0.02, 30), None),  # spreads more, by chance
        (Sample(1.30, 0.018, 30), Sample(1.40, 0.02, 30), None),  # spreads less, by chance
        (Sample(1.40, 0.01, 30), Sample(1.30, 0.02, 30), False),  # worse
        (Sample(1.30, 0.10, 30), Sample(1.31, 0.20, 30), None),  # by chance
        (Sample(1.30, 0.01, 9), Sample(1.40, 0.02, 30), None),  # too few
    ],
)
def test_better(better: Sample, other: Sample, expected: bool | str | None) -> None:
    evidence = SprinklerEvidence({"9.1": {D: better, T: other}})
    assert holds(rules.is_better, evidence, pairs=[(D, T)], spread=True) == expected
    assert holds(rules.is_better, SprinklerEvidence({}), pairs=[(D, T)]) == NOT_JUDGED


@pytest.mark.parametrize(
    ("check", "confirmed", "refuted"),
    [
        (claims.means_are_in_order, group(1.30, 1.31, 1.32), group(1.30, 1.35, 1.32)),
        (claims.estimators_differ, group(1.30, 1.31, 1.32), group(1.30, 1.30, 1.30, std=0.002)),
        (
            claims.half_deviation_is_significant,
            group(1.3, 1.3, 1.3, size=100),
            group(1.3, 1.3, 1.3),
        ),
    ],
)
def test_groups_of_estimators(
    check: Callable[..., CheckResult], confirmed: SprinklerEvidence, refuted: SprinklerEvidence
) -> None:
    assert holds(check, confirmed) is True and holds(check, refuted) is False
    assert holds(check, group(1.3)) == NOT_JUDGED


@pytest.mark.parametrize("check", [claims.means_are_in_order, claims.estimators_differ])
def test_groups_with_wide_intervals_are_undecided(check: Callable[..., CheckResult]) -> None:
    assert holds(check, group(1.30, 1.35, 1.32, std=0.1)) is None


def test_equivalence_needs_narrow_intervals() -> None:
    def equivalent(evidence: SprinklerEvidence) -> bool | str | None:
        return holds(rules.are_equivalent, evidence, groups=[(D, R, T)])

    assert equivalent(group(1.3, 1.301, 1.299, std=0.002)) is True
    assert equivalent(group(1.3, 1.301, 1.32, std=0.002)) is False
    assert equivalent(group(1.3, 1.3, 1.3, std=0.01, size=10)) is None
    assert equivalent(group(1.3)) == NOT_JUDGED
    for distance, std, expected in (
        (0.001, 0.002, True), (-0.001, 0.002, True), (0.02, 0.002, False), (0, 0.02, None),
    ):  # fmt: skip
        tables = {
            "6.1": {rules.EXPONENTIAL["prior"]: Sample(1.3 + distance, std, 30)},
            "5.1": {rules.CLASSIFIER["prior"]: Sample(1.3, std, 30)},
        }
        assert holds(claims.exponential_equals_classifier, SprinklerEvidence(tables)) is expected
    assert holds(claims.exponential_equals_classifier, SprinklerEvidence({})) == NOT_JUDGED


def test_estimators_with_shared_weights_are_compared_in_pairs() -> None:
    """Differences that are small relative to the spread over repetitions, but consistent."""
    ends = np.array(spread(1.4, 0.1))
    noise = np.random.default_rng(0).normal(scale=0.001, size=(3, 30))
    values = [ends + k * 0.01 + noise[k] for k in range(3)]
    shared = [run_of(cell, [*x]) for cell, x in zip((D, R, T), values, strict=True)]
    other = [replace(run, metadata={**run.metadata, "seed": k}) for k, run in enumerate(shared)]
    assert holds(claims.estimators_differ, evidence_of(shared)) is True
    assert holds(claims.estimators_differ, evidence_of(other)) is None


@pytest.mark.parametrize(
    ("kl", "gan", "numerics", "expected"),
    [
        (spread(1.34, 0.002, 10), spread(1.36, 0.02, 10), "stable", True),
        (spread(1.36, 0.02, 10), spread(1.34, 0.002, 10), "stable", False),
        (spread(1.34, 0.02, 10), spread(1.34, 0.02, 10), "stable", None),
        (spread(1.34, 0.002, 9), spread(1.36, 0.02, 10), "stable", None),
        (spread(1.34, 0.002, 10), spread(1.36, 0.02, 10), "published", NOT_JUDGED),
    ],
)
def test_one_stable_run_of_each_divergence_stands_for_three(
    kl: list[float], gan: list[float], numerics: str, expected: bool | str | None
) -> None:
    joint = (replace(cell, setting="optimal", contrast="joint") for cell in (KL, T))
    runs = [
        run_of(cell, ends, numerics=numerics) for cell, ends in zip(joint, (kl, gan), strict=True)
    ]
    evidence = evidence_of(runs)
    check = claims.reverse_kl_is_more_consistent
    assert holds(check, evidence) == expected
    if expected in (True, False):
        assert check(evidence)[1].count("minus") == 1
    # A run is not compared with itself.
    with pytest.raises(NotTestable):
        claims.joint_estimators_do_not_differ(evidence)
    stands_for = {
        cell: evidence.shared_run(cell)
        for cell in (*rules.cells("optimal", "joint"), rules.RELU["joint"])
    }
    shared = {cell for cell, run in stands_for.items() if run}
    assert len(shared) == (4 if numerics == "stable" else 0)
    assert not shared & {*evidence.runs, rules.RELU["joint"]}


def test_at_the_floor() -> None:
    near, far = (Sample(mean, 0.005, 30) for mean in (1.326, 1.34))
    first, other, *_ = rules.cells("optimal", "prior")
    assert holds(claims.is_at_floor, SprinklerEvidence({"8.1": {first: near}})) is True
    wide = replace(near, std=0.02)
    assert holds(claims.is_at_floor, SprinklerEvidence({"8.1": {first: wide}})) is None
    assert holds(claims.is_at_floor, SprinklerEvidence({"8.1": {first: near, other: far}})) is False
    assert holds(claims.is_at_floor, SprinklerEvidence({})) == NOT_JUDGED


def test_the_kl_of_exact_draws() -> None:
    own = replace(T, setting="optimal")
    exact = run_of(own, spread(1.326, 0.002))
    above = replace(exact, scores=exact.scores.assign(kl=exact.scores["kl"] + 0.006))
    assert holds(claims.kl_is_that_of_exact_draws, evidence_of([exact])) is True
    assert holds(claims.kl_is_that_of_exact_draws, evidence_of([above])) is False
    assert holds(claims.kl_is_that_of_exact_draws, thesis_evidence()) == NOT_JUDGED


def test_convergence_of_the_prior_contrast() -> None:
    """The prior contrast is at 1.5 after 2000 iterations, half of those of the joint contrast."""
    check, quick = claims.prior_contrast_converges_faster, run_of(T, spread(1.5, 0.01))
    for end, expected in ((1.8, True), (1.2, False)):
        joint = run_of(JOINT, spread(end, 0.01), curves={"average_kl": np.full(10, end)})
        assert holds(check, evidence_of([joint, quick])) is expected
    random = np.random.default_rng(0)
    joint, prior = (run_of(own, spread(1.5, 0.01)) for own in (JOINT, T))
    noise = [
        replace(run, curves=run.curves.assign(average_kl=random.normal(size=len(run.curves))))
        for run in (joint, prior)
    ]
    assert holds(check, evidence_of(noise)) is None
    slow = run_of(JOINT, spread(1.8, 0.01), curves={"average_kl": np.full(10, 1.8)}, iterations=200)
    assert holds(check, evidence_of([slow, quick])) is False
    assert holds(check, evidence_of([quick])) == NOT_JUDGED
    assert holds(check, evidence_of([quick, run_of(JOINT, spread(1.8, 0.01, 9))])) is None


@pytest.mark.parametrize(
    ("check", "ratio", "finished", "stuck", "expected"),
    [
        (claims.relu_fails_often, rules.RELU["prior"], 10, 10, True),
        (claims.relu_fails_often, rules.RELU["prior"], 6, 6, None),
        (claims.relu_fails_often, rules.RELU["prior"], 3, 15, None),
        (claims.relu_fails_often, rules.RELU["prior"], 30, 0, False),
        (claims.relu_fails_often, rules.RELU["prior"], 0, 30, False),
        (claims.relu_fails_often, rules.RELU["prior"], 1, 0, None),
        (claims.exponential_never_fails, rules.EXPONENTIAL["prior"], 60, 0, True),
        (claims.exponential_never_fails, rules.EXPONENTIAL["prior"], 10, 0, None),
        (claims.exponential_never_fails, rules.EXPONENTIAL["prior"], 60, 1, False),
        (claims.exponential_never_fails, rules.EXPONENTIAL["prior"], 0, 12, False),
        (claims.exponential_never_fails, rules.EXPONENTIAL["prior"], 9, 0, None),
    ],
)
def test_shares_of_failures(
    check: Callable[..., CheckResult],
    ratio: ThesisCell,
    finished: int,
    stuck: int,
    expected: bool | str | None,
) -> None:
    run = run_of(ratio, [1.4] * finished, stuck=stuck)
    assert (run.sample().size, run.failed) == (finished, stuck)
    assert holds(check, evidence_of([run])) == expected
    assert holds(check, SprinklerEvidence({})) == NOT_JUDGED


def test_a_run_that_fails_as_a_whole_confirms_nothing() -> None:
    runs = [run_of(own, [], stuck=30) for own in published_values()]
    confirmed = {
        c.text for c in claims.checked_claims(evidence_of(runs)) if c.verdict == "confirmed"
    }
    assert not confirmed


def test_early_fall_and_fluctuations() -> None:
    wild = {"estimator_loss": np.where(ITERATIONS <= 500, (-1.0) ** np.arange(10), 0)}
    low = {"average_kl": np.full(10, 1.4), **wild}
    calm_first = evidence_of([run_of(T, [1.4] * 10), run_of(KL, [1.4] * 10, curves=wild)])
    kl_first = evidence_of([run_of(T, [1.4] * 10), run_of(KL, [1.4] * 10, curves=low)])
    wild_first = evidence_of([run_of(T, [1.4] * 10, curves=low), run_of(KL, [1.4] * 10)])
    assert holds(claims.gan_falls_faster_early, wild_first) is True
    assert holds(claims.gan_falls_faster_early, kl_first) is False
    assert holds(claims.gan_falls_faster_early, calm_first) is None
    assert holds(claims.reverse_kl_loss_settles, calm_first) is True
    assert holds(claims.reverse_kl_loss_settles, wild_first) is False
    for check in (claims.gan_falls_faster_early, claims.reverse_kl_loss_settles):
        assert holds(check, SprinklerEvidence({})) == NOT_JUDGED


@pytest.mark.parametrize("iterations", [(0, 1000, 2000), (0, 100, 200, 500), (2000,)])
def test_parts_of_the_training_without_evaluations_decide_nothing(
    iterations: Sequence[int],
) -> None:
    runs = [run_of(cell, [1.4] * 10) for cell in (T, KL, JOINT)]
    evidence = evidence_of([
        replace(run, curves=run.curves[run.curves["iteration"].isin(iterations)]) for run in runs
    ])  # fmt: skip
    assert holds(claims.reverse_kl_loss_settles, evidence) == NOT_JUDGED
    has_early = 100 in iterations
    early = holds(claims.gan_falls_faster_early, evidence)
    assert early == (None if has_early else NOT_JUDGED)
    assert (holds(claims.nelbo_rises, evidence) == NOT_JUDGED) != has_early


def test_the_nelbo_of_the_joint_contrast() -> None:
    rising, falling = ({"nelbo": 4 + s * ITERATIONS / 2000} for s in (1, -3.9))
    atoms, only_data = (run_of(JOINT, [1.4] * 3, curves=curve) for curve in (rising, falling))
    model, no_remedy = (
        run_of(JOINT, [1.4] * 3, curves=curve, observations="model") for curve in (falling, rising)
    )
    assert holds(claims.nelbo_rises, evidence_of([atoms])) is True
    assert holds(claims.nelbo_rises, evidence_of([only_data])) is False
    assert holds(claims.nelbo_rises, SprinklerEvidence({})) == NOT_JUDGED
    falls = claims.nelbo_falls_with_model_observations
    assert holds(falls, evidence_of([atoms, model])) is True
    assert holds(falls, evidence_of([atoms, no_remedy])) is False
    assert holds(falls, evidence_of([only_data])) == NOT_JUDGED


def test_the_run_closest_to_the_thesis_is_used() -> None:
    few, other = run_of(T, spread(1.4, 0.1, 12)), run_of(T, spread(1.2, 0.1), iterations=7)
    evidence = evidence_of([other, few])
    assert evidence.runs[T] is few
    assert evidence.tables["9.1"][T].mean == pytest.approx(1.4)
    assert few.deviations == ("12 of 30 repetitions",) and not few.deviating_settings
    assert other.deviating_settings == ("iterations 7",)
    assert evidence.deviation_note([T]) and not evidence.deviation_note([D])


@pytest.mark.parametrize(
    ("changed", "differ"),
    [
        ({}, ""),
        ({"samples": 200}, ""),  # the text's number of draws
        ({"evaluate_every": 7, "seed": 3}, ""),
        ({"iterations": 7}, "experiment.iterations 7 instead of 2000"),
        ({"numerics": "stable", "observations": "model"},
         "experiment.numerics stable instead of published, "
         "experiment.observations model instead of data"),
        ({"data": [0.0, 5.0]}, "experiment.data [0,5] instead of [0,5,8,12,50]"),
    ],
)  # fmt: skip
def test_claims_of_the_thesis_need_the_settings_of_a_schedule(
    changed: dict[str, Any], differ: str
) -> None:
    runs = [run_of(own, spread(1.4 + 0.02 * k, 0.01), **changed) for k, own in enumerate((D, R, T))]
    found = {c.text: c for c in claims.checked_claims(evidence_of(runs))}
    ordered = found["C11: Undertrained, D has the lowest mean, followed by r and T."]
    assert ordered.verdict == (NOT_JUDGED if differ else "confirmed")
    assert f"({differ})" in ordered.evidence or not differ
    assert list(found) == [text for text, *_ in claims.claims]
    # Other runs of the same configurations count.
    both = [*runs, *(run_of(own, spread(1.5, 0.3), seed=1) for own in (D, R, T))]
    verdicts = {c.text: c.verdict for c in claims.checked_claims(evidence_of(both))}
    assert verdicts[ordered.text] in ("confirmed", "undecided")


VERDICTS_ON_THE_THESIS = {
    "C1": ["confirmed"], "C2": ["confirmed"], "C3": [""], "C4": ["", "confirmed"],
    "C5": ["confirmed"], "C6": ["confirmed", ""], "C7": ["confirmed"], "C8": ["undecided"],
    "C9": ["confirmed"], "C10": ["confirmed", "undecided"],
    "C11": ["undecided", "undecided"], "C12": ["contradicted"], "C13": ["", ""],
    "C14": ["", ""],
}  # fmt: skip


def test_the_same_rules_on_the_thesis_s_own_numbers() -> None:
    found: dict[str, list[str]] = {}
    for claim in claims.checked_claims(SprinklerEvidence({})):
        assert claim.verdict == NOT_JUDGED and claim.rule
        number = claim.text.split(":")[0].split(",")[0]
        found.setdefault(number, []).append(claim.theirs.split(":")[0])
    assert found == VERDICTS_ON_THE_THESIS


def test_runs_with_the_thesis_s_numbers_get_the_same_verdicts() -> None:
    # With different seeds, no repetitions are paired.
    runs = [
        run_of(own, spread(sample.mean, sample.std), seed=seed)
        for seed, (own, sample) in enumerate(published_values().items())
    ]
    for claim in claims.checked_claims(evidence_of(runs)):
        # C1 is about curves, and tables 5.1 and 8.2 print different values of one configuration.
        if claim.theirs and not claim.text.startswith("C1:"):
            assert claim.theirs.startswith(claim.verdict), claim.text
    assert thesis_evidence().tables.keys() == evidence_of(runs).tables.keys()
