"""Runs of the suite: resuming, stacks, pages, and claims on modified tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from support.config import compose
from support.layout import small_texts
from support.runs import with_columns

from bnnbench.config.assemble import build
from bnnbench.experiment.kinds import resumable_stack
from bnnbench.experiment.kinds.image_experiment import ImageExperiment
from bnnbench.experiment.kinds.resumable_stack import STATE
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.run.run import Run
from bnnbench.experiment.store.answer_tables import ANSWERS, CURVES, SCORES
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.figures.plotting import PALETTE
from bnnbench.results.claims.claims import NOT_JUDGED, check_claims
from bnnbench.results.claims.saved_run import SavedRun, read_answers
from bnnbench.suites.latent_models.experiment import AutoencoderExperiment
from bnnbench.suites.latent_models.page import EXPERIMENT_PAGES
from bnnbench.suites.latent_models.page_parts import COLOURS, read_run
from bnnbench.suites.latent_models.semi_supervised.stack import SemiSupervisedStack
from bnnbench.suites.latent_models.stack import AutoencoderStack

PAGES = {page.kind: page for page in EXPERIMENT_PAGES}

SMALL = "epochs=4 repetitions=2 hidden=[8] importance_samples=60 evaluated_images=10"

SETTINGS = {
    "latent_sizes": f"latents=[2,8,9] {SMALL}",
    "distortion_rate": f"betas=[0.5,1,2] {SMALL}",
    "planar_flows": f"lengths=[0,1,2] training_samples=[3] {SMALL}",
    "semi_supervised": "labels=[10,20] epochs=4 supervised_epochs=4 repetitions=2 hidden=[8]",
}

OURS = {
    "distortion_rate": [
        "The bound of log p(x) with 60 draws is highest at beta = 1, whose objective is the ELBO"
    ],
    "semi_supervised": ["The relaxation loses no accuracy against the sum over classes"],
}
"""Claims that are not the book's, which are tested on any images."""

Folders = Callable[[str], RunFolder]


def make_run(kind: str, outputs: Path, settings: str = "") -> Run:
    words = [f"experiment.{word}" for word in (settings or SETTINGS[kind]).split()]
    return build(compose(f"experiment={kind}", *words, "workers=1", f"outputs_dir={outputs}"))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """Return a function that executes a run when it is first needed."""

    @cache
    def folder_of(kind: str) -> RunFolder:
        return execute(make_run(kind, tmp_path_factory.mktemp("outputs")))

    return folder_of


@pytest.mark.slow
@pytest.mark.parametrize("kind", SETTINGS)
def test_figures_and_claims(kind: str, folders: Folders) -> None:
    folder, page = folders(kind), PAGES[kind]
    notes = page.notes(folder)
    assert not notes if kind == "semi_supervised" else "10 test images" in notes[0]
    claims = page.claims(folder)
    assert len(claims) == len(page.statements)
    other = [claim for claim in claims if claim.evidence.endswith(", not digits")]
    assert {claim.verdict for claim in other} == {NOT_JUDGED}
    ours = [claim.text for claim in claims if claim not in other]
    assert ours == OURS.get(kind, [])
    for name, draw in page.figures.items():
        figure = draw(folder)
        assert small_texts(figure) == [], name
        assert any(axes.has_data() for axes in figure.axes), name
    answers = read_answers(folder)
    if kind != "semi_supervised":
        assert "bound of log p(x) with 60 draws, test" in {*answers["quantity"]}
    assert answers["published"].isna().all() and np.isfinite(answers["value"]).all()


def test_evaluated_images_are_all_or_a_random_subset(tmp_path: Path) -> None:
    def rows(settings: str, seed: int = 0) -> slice | list[int]:
        experiment = make_run("distortion_rate", tmp_path, settings).experiment
        assert isinstance(experiment, AutoencoderExperiment)
        return replace(experiment, seed=seed).evaluated_rows(360)

    assert rows("epochs=1") == rows("evaluated_images=null") == rows("evaluated_images=360")
    assert rows("epochs=1") == slice(None)
    subset = rows("evaluated_images=100")
    assert isinstance(subset, list) and subset == sorted({*subset}) and len(subset) == 100
    assert min(subset) < 20 and max(subset) > 340
    assert subset == rows("evaluated_images=100 learning_rate=0.1")
    assert subset != rows("evaluated_images=100", seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "stack"),
    [("distortion_rate", AutoencoderStack), ("semi_supervised", SemiSupervisedStack)],
)
def test_a_killed_setting_resumes_after_its_last_saved_epoch(
    kind: str,
    stack: type[AutoencoderStack | SemiSupervisedStack],
    folders: Folders,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resumable_stack, "SAVE_SECONDS", 0.0)
    run, train_epoch, trained = make_run(kind, tmp_path), stack.train_epoch, []

    def train_or_die(self: AutoencoderStack, epoch: int) -> None:
        if epoch == 3 and not trained:
            raise KeyboardInterrupt
        train_epoch(self, epoch)

    with patch.object(stack, "train_epoch", train_or_die), pytest.raises(KeyboardInterrupt):
        execute(run)
    unit = run.experiment.units()[0]
    assert run.experiment.count_steps(unit, run.store) == (2, 4)

    def record(self: AutoencoderStack, epoch: int) -> None:
        trained.append(epoch)
        train_epoch(self, epoch)

    with patch.object(stack, "train_epoch", record):
        folder = execute(make_run(kind, tmp_path))
    assert trained[:2] == [3, 4] and not list(folder.work.glob(f"*.{STATE}"))
    for table in (ANSWERS, CURVES):
        ours, expected = (pd.read_csv(f.table(table)) for f in (folder, folders(kind)))
        pd.testing.assert_frame_equal(ours, expected, check_exact=True)


@pytest.mark.slow
def test_a_stack_of_all_settings_does_not_depend_on_those_requested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, where models of different sizes are padded to one shape."""
    monkeypatch.setattr(ImageExperiment, "lockstep", property(lambda self: True))
    run = make_run("latent_sizes", tmp_path, f"latents=[2,3] {SMALL}")
    (units,) = run.experiment.groups(run.experiment.units())
    run.folder.create()
    scores = {}
    for group in (units, units[1:2]):
        run.store.discard(units)
        run.experiment.run_group(group, run.store)
        scores[group] = pd.DataFrame(run.store.rows(units[1], SCORES)).drop(columns="seconds")
    pd.testing.assert_frame_equal(*scores.values(), rtol=1e-3)


def claim(run: SavedRun, text: str) -> str:
    """Return the verdict on the claim that contains this text."""
    statements = PAGES[run.folder.root.parent.name].statements
    (found,) = [c for c in check_claims(statements, run) if text in c.text]
    return found.verdict


def with_score(run: SavedRun, column: str, values: dict[str, float]) -> SavedRun:
    """Return a run in which a score has these values in all repetitions, plus a little noise."""
    scores = run[SCORES]
    noise = -1e-6 * scores["repetition"] * (1 + scores["unit"].factorize()[0]) ** 2
    column_values = scores["unit"].map(values).fillna(scores[column]) + noise
    return with_columns(run, SCORES, **{column: column_values})


@pytest.mark.slow
def test_saturation_is_judged_by_the_gains(folders: Folders) -> None:
    run = read_run(folders("latent_sizes"))
    rises = {"vae-d2": -30.0, "vae-d8": -20.0, "vae-d9": -19.0}
    assert claim(with_score(run, "elbo", rises), "rises with") == "confirmed"
    assert claim(with_score(run, "elbo", rises), "is saturated") == "contradicted"
    further = {**rises, "vae-d9": -10.0}
    assert claim(with_score(run, "elbo", further), "rises with") == "contradicted"
    falls = {**rises, "vae-d9": -21.0}
    assert claim(with_score(run, "elbo", falls), "loses almost nothing") == "contradicted"


@pytest.mark.slow
def test_the_front_is_judged_by_its_slopes(folders: Folders) -> None:
    run = read_run(folders("distortion_rate"))
    units = ["beta-0000_500", "beta-0001_000", "beta-0002_000"]
    run = with_score(run, "rate", dict(zip(units, (3.0, 2.0, 1.0), strict=True)))
    for distortions, verdict in (((1, 2, 4), "confirmed"), ((1, 3, 4), "contradicted")):
        changed = with_score(run, "distortion", dict(zip(units, distortions, strict=True)))
        assert claim(changed, "convex") == verdict
    falls = {units[0]: 2.0, units[1]: 1.5, units[2]: 4.0}
    less = with_score(run, "distortion", falls)
    (found,) = [c for c in check_claims(PAGES["distortion_rate"].statements, less)
                if c.text.startswith("Larger beta gives less rate")]  # fmt: skip
    assert found.verdict == "contradicted"
    assert "rise of the distortion from beta 0.5 to 1: -0.5" in found.evidence
    assert claim(with_score(run, "active_units", {units[0]: 8, units[1]: 8, units[2]: 0}),
                 "avoids collapse") == "confirmed"  # fmt: skip


@pytest.mark.slow
def test_lines_of_equal_elbo_have_their_labels_on_them(folders: Folders) -> None:
    figure = PAGES["distortion_rate"].figures["distortion_rate"](folders("distortion_rate"))
    axes = figure.axes[0]
    labels = [text for text in axes.texts if text.get_text().startswith("ELBO")]
    assert labels
    for text in labels:
        elbo = float(text.get_text().removeprefix("ELBO "))
        assert -sum(text.get_position()) == pytest.approx(elbo, abs=0.51)
        assert text.get_position()[1] < axes.get_ylim()[1]


@pytest.mark.slow
def test_no_curve_of_the_elbo_is_cut_off(folders: Folders) -> None:
    figure = PAGES["latent_sizes"].figures["elbo_by_epoch"](folders("latent_sizes"))
    for axes in figure.axes:
        first, (low, high) = axes.get_xlim()[0], axes.get_ylim()
        for line in axes.lines:
            x, y = (np.asarray(values, float) for values in line.get_data())
            assert ((low < y) & (y < high))[x >= first].all()


def test_lines_and_classes_have_distinct_colours() -> None:
    colours = np.array([to_rgb(colour) for colour in COLOURS])
    distances = np.linalg.norm(colours[:, None] - colours, axis=2) + np.eye(10)
    assert distances.min() > 0.2  # of the palette
    assert distances[len(PALETTE) :].min() > 0.4  # of the colours that it lacks


@pytest.mark.slow
def test_flows_are_judged_against_no_flow(folders: Folders) -> None:
    run = read_run(folders("planar_flows"))
    better = {"flow-0": -20.0, "flow-1": -19.0, "flow-2": -19.5, "iwae-3": -19.0}
    assert claim(with_score(run, "log_p", better), "improve log p(x)") == "confirmed"
    assert claim(with_score(run, "log_p", better), "Many steps") == "contradicted"
    worse = with_score(with_score(run, "log_p", better), "elbo", {"flow-0": -21, "iwae-3": -22})
    assert claim(worse, "worse ELBO") == "confirmed"


@pytest.mark.slow
def test_semi_supervised_gains_are_paired_by_repetition(folders: Folders) -> None:
    kind = "semi_supervised"
    run = PAGES[kind].figures.read(folders(kind))
    labels = ("00010", "00020")
    run = with_score(run, "accuracy", {f"supervised-{n}": 50.0 for n in labels})
    run = with_score(run, "accuracy_equal", {f"supervised-{n}": 20.0 for n in labels})
    gains = {"mixed-00010": 60.0, "mixed-00020": 70.0, "paired-00010": 80.0, "paired-00020": 40.0}
    run = with_score(run, "accuracy", gains)
    assert claim(run, "accuracy: minibatches as") == "confirmed"
    assert claim(run, "accuracy: minibatches paired") == "contradicted"
    assert claim(run, "larger the improvement: minibatches as") == "contradicted"
    assert claim(run, "larger the improvement: minibatches paired") == "confirmed"
    assert claim(run, "about 20 %") == "confirmed"
