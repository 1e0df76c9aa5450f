"""Tables 10.1 and 10.2 of the thesis next to our runs, and the page of a run on images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bnnbench.experiment.store.answer_tables import CURVES, SCORES, Sample
from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.blocks import Block, Heading, Paragraph, Style, columns
from bnnbench.report.experiment_page import ExperimentPage, Figures
from bnnbench.report.figures.plotting import PALETTE, legend, show_images, small_multiples
from bnnbench.results.claims.saved_run import SavedRun, SourceSettings, images_of
from bnnbench.results.read.run_tables import Runs
from bnnbench.results.settings import format_value
from bnnbench.suites.lam_density_ratio.adversarial_vb.claims import claims
from bnnbench.suites.lam_density_ratio.adversarial_vb.evidence import (
    ImageEvidence,
    evidence_of,
    read_run,
    thesis_evidence,
)
from bnnbench.suites.lam_density_ratio.adversarial_vb.names import (
    BINARISATION,
    IMAGES,
    KIND,
    PUBLISHED,
    SYMBOLS,
    EstimatorSetting,
    differing_settings,
    settings_of_thesis,
)
from bnnbench.suites.lam_density_ratio.comparison.section import (
    COMPARISON,
    P_STATEMENT,
    blocks_of,
    comparison,
)
from bnnbench.suites.lam_density_ratio.figures import (
    COLOURS,
    draw_median,
    limits,
    note_hidden_range,
)
from bnnbench.suites.lam_density_ratio.names import DIVERGENCES, OK
from bnnbench.suites.lam_density_ratio.repetitions import Repetitions

TABLES = {"10.1": 2, "10.2": 10}
"""Number of latent variables of each table."""

COLUMNS = columns(
    {"Configuration": "{configuration}"},
    {"Repetitions": "{repetitions}", "Failed": "{failures}", **COMPARISON},
)

IMAGE_COLUMNS = 10

WIDE_RANGE = 1000
"""Range of losses from which on their axis is logarithmic, but linear from -10 to 10."""

STATEMENT = (
    "Mean absolute error of reconstructions after the last iteration. Ours: mean ± standard error "
    "over the repetitions that did not fail, and the standard deviation with divisor n. "
    f"{P_STATEMENT} "
    "Settings that differ: {}."
)


def tables_section(runs: Runs, style: Style) -> Iterator[Block]:
    """Yield both tables for every run."""
    found = list(runs.tables.get(KIND, pd.DataFrame()).index)
    for run in found:
        folder, suffix = runs.folders[run], f"_{run}" if len(found) > 1 else ""
        evidence = evidence_of(folder)
        differing = deviations(read_record(folder).identity)
        for number, latents in TABLES.items():
            rows = list(comparison_rows(evidence, latents, bool(differing)))
            if rows:
                yield Heading(f"Table {number} of the thesis: {latents} latent variables", 3)
                yield Paragraph(STATEMENT.format(", ".join(differing) or "none"))
                name = f"density_ratio_table_{number.replace('.', '_')}{suffix}"
                yield from blocks_of(name, COLUMNS, rows)


def comparison_rows(
    evidence: ImageEvidence, latents: int, settings_differ: bool
) -> Iterator[dict[str, Any]]:
    """Yield our values at full precision next to those of the thesis, by configuration."""
    assert evidence.run is not None
    scores = evidence.run.rows(SCORES, latents=latents)
    for key, rows in scores.groupby([*EstimatorSetting._fields], sort=False):
        setting = EstimatorSetting(*key)
        ours = Repetitions(rows)
        yield {
            "configuration": setting.label,
            "repetitions": len(rows),
            "failed": ours.failed,
            "failures": ours.failures,
            **comparison(
                evidence.errors[setting],
                PUBLISHED.get(setting, Sample()),
                comparable=not settings_differ,
            ),
        }


def deviations(identity: Mapping[str, Any]) -> list[str]:
    """Return every setting of a run that differs from the thesis, such as `batch size 64`."""
    images = identity["images"]
    found = differing_settings(identity, images["name"], images["binarisation"])
    return [f"{name.replace('_', ' ')} {format_value(value)}" for name, value in found.items()]


figures = Figures(read_run)


def _curves_figure(run: SavedRun, column: str, name: str) -> Figure:
    """Draw a panel per number of latents and divergence, and a line per estimator."""
    scores = run[SCORES]
    panels = scores.groupby(["latents", "divergence"], sort=False)
    colours = {**dict(zip(SYMBOLS.values(), PALETTE, strict=False)), **COLOURS}
    figure, axes = small_multiples(len(panels), 2, (4.6, 3.0), (0.4, 0.4))
    for one, ((latents, divergence), own) in zip(axes, panels, strict=True):
        medians = []
        for (unit, estimator), rows in own.groupby(["unit", "estimator"], sort=False):
            curves = Repetitions(rows, run.rows(CURVES, unit=unit)).finished_curves
            if len(curves):
                symbol = SYMBOLS[str(estimator)]
                draw_median(one, curves, column, colours[symbol], symbol)
                medians.append(curves.groupby("iteration")[column].median())
        low, high = limits(medians, early=0.1) if medians else (0, 1)
        if high - low > WIDE_RANGE:
            one.set_yscale("symlog", linthresh=10)
        elif medians:
            one.set_ylim(low, high)
            note_hidden_range(one, medians)
        one.set_title(
            f"{DIVERGENCES[str(divergence)]}, d = {latents}", loc="left", fontsize="medium"
        )
        one.set(xlabel="iteration of the encoder and decoder", ylabel=name)
    legend(figure, axes, columns=5)
    return figure


CAPTION = (
    "{} by iteration of the encoder and decoder, number of latent variables d, divergence and "
    "estimator (thesis, {}); medians over the repetitions that did not fail, bands: quartiles"
)


@figures(CAPTION.format("Mean absolute error of reconstructions", "Figs. 10.6 and 10.9"))
def reconstruction_by_iteration(run: SavedRun) -> Figure:
    return _curves_figure(run, "mae", "mean absolute error")


@figures(CAPTION.format("Loss of the estimator", "Figs. 10.7 and 10.10"))
def estimator_loss(run: SavedRun) -> Figure:
    return _curves_figure(run, "estimator_loss", "estimator loss [nats]")


@figures(CAPTION.format("NELBO with the estimated log ratio", "Figs. 10.8 and 10.11"))
def nelbo(run: SavedRun) -> Figure:
    return _curves_figure(run, "nelbo", "NELBO [nats]")


@figures(
    "Images (first row), their reconstructions (second row) and mean images of latent variables "
    "drawn from the prior (others), of the first repetition that did not fail; if all failed, of "
    "the first one, and the title says how many failed and why"
)
def avb_samples(run: SavedRun) -> Figure:
    arrays = run.arrays(IMAGES)
    groups = run[SCORES].groupby([*EstimatorSetting._fields], sort=False)
    figure, axes = small_multiples(len(groups), 4, (2.4, 1.65), (0.2, 0.2))
    for k, (one, (setting, rows)) in enumerate(zip(axes, groups, strict=True)):
        title, own = _title(*setting), Repetitions(rows)
        if own.finished.empty:
            title += f"\n{own.failures}"
        parts = [arrays[name][k] for name in ("originals", "reconstructions", "samples")]
        show_images(one, np.concatenate(parts), IMAGE_COLUMNS, title)
        one.axhline(2, color=PALETTE[5], linewidth=1.5)
    return figure


def _title(*setting: Any) -> str:
    """Return `GAN, D, d = 2` for the fields of an `EstimatorSetting`."""
    one = EstimatorSetting(*setting)
    return f"{one.label}, d = {one.latents}"


def notes(folder: RunFolder) -> list[str]:
    """Return settings that differ from the thesis, failures, and why there may be no ratio."""
    scores, found = read_run(folder)[SCORES], []
    for setting, rows in scores.groupby([*EstimatorSetting._fields], sort=False):
        for status, failed in rows[rows["status"] != OK].groupby("status"):
            count = f"{len(failed)} of {len(rows)} repetitions failed"
            found.append(f"{_title(*setting)}: {count} ({status}).")
    identity, most = read_record(folder).identity, scores["latents"].max()
    if differing := deviations(identity):
        found.insert(0, f"Settings that differ from the thesis: {', '.join(differing)}.")
    noise = identity["noise"]
    if noise < most:
        found.append(
            f"The encoder has {noise} noise inputs. Its draws for one image lie on a "
            f"{noise}-dimensional surface, so with {most} latent variables q(z|x) has no density, "
            "KL(q || p) is infinite, and the better the estimator, the larger its ratios."
        )
    return found


EXPERIMENT_PAGE = ExperimentPage(
    kind=KIND,
    title="Adversarial variational Bayes on images (chapter 10)",
    caption=(
        "Mean ± standard error over the repetitions that did not fail, after the last iteration. "
        "Reconstruction errors: means over 500 images and all pixels, which are grey values in "
        "[0, 1]. Loss and NELBO in nats; NELBO: -log p(x|z) plus the estimated log ratio."
    ),
    figures=figures,
    statements=claims,
    settings=SourceSettings(
        free=("latents", "divergences", "estimators"),
        chosen=lambda record: settings_of_thesis(record.identity["latents"]),
    ),
    data_of=images_of(BINARISATION),
    read_evidence=evidence_of,
    theirs=thesis_evidence(),
    notes=notes,
)
