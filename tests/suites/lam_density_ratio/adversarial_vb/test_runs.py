"""Runs on images: tables, resuming, stacks, figures and claims."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from support.config import compose
from support.layout import small_texts
from support.runs import with_columns

from bnnbench.config.assemble import build
from bnnbench.experiment.kinds import resumable_stack
from bnnbench.experiment.kinds.image_experiment import ImageExperiment
from bnnbench.experiment.kinds.resumable_stack import STATE, saved_steps
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.answer_tables import CURVES, SCORES, Sample
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.blocks import DataFile, Paragraph, Style
from bnnbench.results.claims.claims import NOT_JUDGED, check_claims
from bnnbench.results.claims.saved_run import read_answers
from bnnbench.results.read.run_tables import read_runs
from bnnbench.suites.lam_density_ratio.adversarial_vb.claims import claims
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import (
    ImageEvidence,
    evidence_of,
    read_run,
    thesis_evidence,
)
from bnnbench.suites.lam_density_ratio.adversarial_vb.experiment import AdversarialVB
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import SCHEDULES
from bnnbench.suites.lam_density_ratio.adversarial_vb.page import (
    EXPERIMENT_PAGE,
    avb_samples,
    deviations,
    tables_section,
)
from bnnbench.suites.lam_density_ratio.adversarial_vb.stack import ImageStack

TINY = (
    "pretraining_steps=3", "estimator_steps=2", "iterations=5", "evaluate_every=1",
    "repetitions=2", "width=0.03", "batch_size=8",
)  # fmt: skip


def make_run(outputs: Path, *settings: str) -> Run:
    words = [f"experiment.{word}" for word in (*TINY, *settings)]
    return build(
        compose("experiment=adversarial_vb", *words, "workers=1", f"outputs_dir={outputs}")
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return execute(make_run(tmp_path_factory.mktemp("outputs")))


@pytest.mark.ci
def test_a_run_has_all_tables_figures_and_claims(folder: RunFolder) -> None:
    scores = pd.read_csv(folder.table(SCORES))
    units = scores["unit"].drop_duplicates().tolist()
    kinds = [f"d{d:04d}-{k}-{e}" for d in (2, 10) for k in ("js", "kl") for e in "DRT"]
    assert units == [*kinds, "d0002-js-RELU", "d0002-js-STABLE"]
    curves = pd.read_csv(folder.table(CURVES))
    assert curves.groupby("unit").size().eq(12).all()
    last = curves.groupby(["unit", "repetition"], sort=False)["mae"].last()
    np.testing.assert_array_equal(last, scores["mae"])
    answers = read_answers(folder)
    assert answers["published"].isna().all() and np.isfinite(answers["value"]).all()
    judged = EXPERIMENT_PAGE.claims(folder)
    assert len(judged) == len(claims)
    tested = [claim.source for claim in judged if not claim.evidence.endswith(", not digits")]
    assert tested == ["ours"]
    for name, draw in [*EXPERIMENT_PAGE.figures.items()][:1]:
        figure = draw(folder)
        assert small_texts(figure) == [], name
        assert any(axes.has_data() for axes in figure.axes), name
    notes = " ".join(EXPERIMENT_PAGE.notes(folder))
    assert "no density" in notes and "images digits, width 0.03, batch size 8" in notes


@pytest.mark.parametrize(
    ("status", "shown"), [(["ok", "ok"], 0), (["stuck", "ok"], 1), (["stuck", "diverged"], None)]
)
def test_a_panel_shows_a_repetition_that_did_not_fail(
    folder: RunFolder, tmp_path: Path, status: list[str], shown: int | None
) -> None:
    experiment = make_run(tmp_path).experiment
    assert isinstance(experiment, AdversarialVB)
    unit = next(iter(experiment.settings))
    stack = experiment.make_stack([unit])
    for log, one in zip(stack.logs, status, strict=True):
        log.status = one
    ((tables, arrays),) = experiment.results(stack, {unit: range(2)})
    (pictures,) = arrays.values()
    expected = stack.pictures(shown or 0)
    assert all((pictures[name][0] == one).all() for name, one in expected.items())
    run = replace(read_run(folder), tables={SCORES: pd.DataFrame(tables[SCORES])})
    (panel,) = avb_samples(run).axes
    assert ("1 of 2 diverged, 1 of 2 stuck" in panel.get_title()) == (shown is None)


def test_tables_have_the_thesis_and_settings_that_differ(folder: RunFolder) -> None:
    blocks = list(tables_section(read_runs(folder.root.parent), Style()))
    files = {one.name: one.table for one in blocks if isinstance(one, DataFile)}
    low, high = files["density_ratio_table_10_1"], files["density_ratio_table_10_2"]
    assert (len(low), len(high)) == (8, 6) and low["p"].isna().all()
    row = low.set_index("configuration").loc["GAN, T"]
    assert (row["thesis_mean"], row["thesis_std"], row["repetitions"]) == (0.10683, 0.00199, 2)
    assert "images digits, width 0.03" in next(b.text for b in blocks if isinstance(b, Paragraph))
    identity = read_record(folder).identity
    assert {*deviations({**identity, "noise": 9})} - {*deviations(identity)} == {"noise 9"}


def test_the_thesis_s_errors_stand_next_to_its_settings_only(tmp_path: Path) -> None:
    experiment = make_run(tmp_path).experiment
    assert isinstance(experiment, AdversarialVB)
    setting, scores = experiment.settings["d0002-js-T"], pd.DataFrame({"mae": [0.1, 0.2]})
    scores = scores.assign(status="ok", mse=0.1, estimator_loss=1.0, nelbo=1.0)

    def published(one: AdversarialVB) -> float:
        return one._answers(setting, scores)[0].published

    source = replace(experiment.images, name="mnist", binarisation="none")
    unset = dict.fromkeys([*SCHEDULES["published"], "learning_rates"])
    own = replace(experiment, images=source, schedule="published", **unset).resolved()
    assert published(own) == published(replace(own, repetitions=30)) == 0.10683
    for change in ({"iterations": 9}, {"noise": 5}, {"images": experiment.images}):
        assert math.isnan(published(replace(own, **change)))


@pytest.mark.slow
def test_a_killed_configuration_resumes_with_identical_bits(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumable_stack, "SAVE_SECONDS", 0.0)
    run, take_step, done = make_run(tmp_path), ImageStack.take_step, []

    def step_or_die(one: ImageStack) -> None:
        if one.steps == 3 and not done:
            raise KeyboardInterrupt
        done.append(one.steps) if done else None
        take_step(one)

    with patch.object(ImageStack, "take_step", step_or_die), pytest.raises(KeyboardInterrupt):
        execute(run)
    unit = run.experiment.units()[0]
    assert saved_steps(run.store.file(unit, STATE)) == 3
    done.append(-1)
    with patch.object(ImageStack, "take_step", step_or_die):
        resumed = execute(make_run(tmp_path))
    assert done[1:4] == [3, 4, 5] and not list(resumed.work.glob(f"*.{STATE}"))
    for table in (SCORES, CURVES):
        ours, expected = (
            pd.read_csv(one.table(table)).drop(columns="seconds", errors="ignore")
            for one in (resumed, folder)
        )
        pd.testing.assert_frame_equal(ours, expected, check_exact=True)


@pytest.mark.slow
def test_a_stack_of_all_configurations_gives_the_same_results(
    folder: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, where all configurations with as many latent variables form one stack."""
    monkeypatch.setattr(ImageExperiment, "lockstep", property(lambda self: True))
    together = execute(make_run(tmp_path))
    ours, expected = (pd.read_csv(one.table(SCORES)) for one in (together, folder))
    columns = ["unit", "repetition", "mae", "mse", "nelbo", "status"]
    pd.testing.assert_frame_equal(ours[columns], expected[columns], rtol=1e-3)


def verdicts(evidence: ImageEvidence) -> dict[str, str]:
    """Return the verdict on each claim by the beginning of its text."""
    return {claim.text[:24]: claim.verdict for claim in check_claims(claims, evidence)}


def test_the_rules_on_the_numbers_of_the_thesis() -> None:
    found = verdicts(thesis_evidence())
    assert found["A1: With GAN, T has a si"] == "confirmed"
    assert found["A2: Reverse KL has consi"] == "undecided"  # p = .77 and .90 for D and r
    assert found["A3: D is the most accura"] == "undecided"  # means in order, not significantly
    assert found["A3: Apart from T with GA"] == "confirmed"
    assert found["A6: With 10 latent varia"] == "confirmed"  # p = 4e-6
    assert sum(verdict != NOT_JUDGED for verdict in found.values()) == 5


def test_means_are_judged_by_their_tests(folder: RunFolder) -> None:
    evidence = evidence_of(folder)
    claim = "A1: With GAN, T has a si"
    assert evidence.errors and verdicts(evidence)[claim] == "undecided", "two repetitions"
    for error, verdict in ((0.2, "confirmed"), (0.05, "contradicted")):
        errors = {
            setting: Sample(error if setting.estimator == "log_ratio" else 0.1, 0.001, 5)
            for setting in evidence.errors
        }
        changed = verdicts(replace(evidence, errors=errors))
        assert changed[claim] == verdict
        assert changed["A3: Apart from T with GA"] == "contradicted"


def with_scores(evidence: ImageEvidence, **columns: object) -> ImageEvidence:
    assert evidence.run is not None
    return replace(evidence, run=with_columns(evidence.run, SCORES, **columns))


def test_failures_spikes_and_rounding_are_judged_by_the_scores(folder: RunFolder) -> None:
    evidence = evidence_of(folder)
    assert evidence.run is not None
    scores = evidence.run[SCORES]
    fails = (scores["latents"] == 10) & (scores["estimator"] != "class_probability")
    status = scores["status"].where(~fails, "not finite")
    changed = verdicts(with_scores(evidence, status=status, largest_loss=1e15, log_ratio_error=1.0))
    name = "A5: With 10 latent varia"
    assert (verdicts(evidence)[name], changed[name]) == ("contradicted", "confirmed")
    name = "A7: With 10 latent varia"
    assert (verdicts(evidence)[name], changed[name]) == ("contradicted", "confirmed")
    assert changed["A8: The pre-activation o"] == "confirmed"
    assert changed["A8: Calculations with D "] == "contradicted"


def with_curves(
    evidence: ImageEvidence, column: str, values: Mapping[str, list[float]]
) -> ImageEvidence:
    """Return evidence of ten repetitions, in which units have these values at six evaluations."""
    assert evidence.run is not None
    tables = {
        name: pd.concat(
            [table.assign(repetition=table["repetition"] + 2 * k) for k in range(5)],
            ignore_index=True,
        )
        for name, table in evidence.run.tables.items()
        if name in (SCORES, CURVES)
    }
    evidence = replace(
        evidence, run=replace(evidence.run, tables={**evidence.run.tables, **tables})
    )
    curves = tables[CURVES]
    for unit, own in values.items():
        rows = curves["unit"] == unit
        curves.loc[rows, column] = np.tile(own, rows.sum() // len(own))
    return replace(evidence, run=with_columns(evidence.run, CURVES, **{column: curves[column]}))


def by_source(evidence: ImageEvidence, source: str) -> str:
    """Return the verdict on the claim of a caption."""
    (found,) = [one for one in check_claims(claims, evidence) if one.source.endswith(source)]
    return found.verdict


@pytest.mark.parametrize(("column", "figure"), [("estimator_loss", "10.7a"), ("nelbo", "10.8a")])
def test_curves_are_above_others_at_most_evaluations(
    folder: RunFolder, column: str, figure: str
) -> None:
    evidence, low = evidence_of(folder), [1.0] * 6
    for high, verdict in (
        ([0.0, 2, 2, 2, 2, 2], "confirmed"),
        ([0.0, 0, 2, 2, 2, 2], "contradicted"),
    ):
        units = {"d0002-js-T": high, "d0002-js-D": low, "d0002-js-R": low}
        assert by_source(with_curves(evidence, column, units), figure) == verdict
    units = {"d0002-js-T": [2.0] * 6, "d0002-js-D": low, "d0002-js-R": [3.0] * 6}
    assert by_source(with_curves(evidence, column, units), figure) == "contradicted"
    assert by_source(thesis_evidence(), figure) == NOT_JUDGED


def test_the_captions_on_ten_latent_variables(folder: RunFolder) -> None:
    evidence = evidence_of(folder)
    units = {"d0010-kl-D": [0.0, 0, 2, 2, 2, 2], "d0010-js-D": [1.0] * 6}
    assert by_source(with_curves(evidence, "mae", units), "10.9") == "confirmed"
    units["d0010-kl-D"] = [0.0, 0, 0, 0, 2, 2]
    assert by_source(with_curves(evidence, "mae", units), "10.9") == "contradicted"
    units = {"d0010-kl-D": [0.0, 0, 0, 1, 2, 3], "d0010-js-D": [0.0, 0, 0, 0.1, 0.2, 0.3]}
    assert by_source(with_curves(evidence, "nelbo", units), "10.11") == "confirmed"
    units["d0010-kl-D"] = [9.0, 0, 9, 0.15, 0.3, 0.45]  # the first half does not count
    assert by_source(with_curves(evidence, "nelbo", units), "10.11") == "contradicted"
    assert evidence.run is not None
    failed = with_scores(evidence, status="stuck")
    assert by_source(failed, "10.9") == by_source(failed, "10.7a") == "undecided"
