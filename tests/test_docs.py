"""The documentation agrees with the package and with the stored results."""

from __future__ import annotations

import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from support.config import compose, job_overrides
from support.layout import small_texts
from support.rendered import PAGES, Rendered, rendered
from support.runs import make_run
from support.sprinkler_runs import finished_run

import bnnbench
from bnnbench.config.assemble import build
from bnnbench.config.overrides import prepare_overrides
from bnnbench.experiment.run.execution import execute
from bnnbench.experiment.store.answer_tables import Answer
from bnnbench.experiment.store.record import Record, read_record, write_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.report.blocks import MISSING
from bnnbench.results.claims.claims import NOT_JUDGED, Claim
from bnnbench.results.compare.published_scores import with_published
from bnnbench.results.published.values import published_splits
from bnnbench.results.read.run_tables import read_runs
from bnnbench.suites.lam_density_ratio.comparison.claims import claims as sprinkler_claims
from bnnbench.suites.lam_density_ratio.names import DIVERGED, OK
from bnnbench.suites.latent_models.names import PLANAR, QUANTITIES, quantities
from bnnbench.suites.latent_models.semi_supervised.experiment import APPROXIMATIONS
from bnnbench.suites.latent_models.semi_supervised.stack import PAIRED, SUPERVISED
from bnnbench.types import UserError

PACKAGE = Path(bnnbench.__file__).parent
ROOT = PACKAGE.parent
DOCS = ROOT / "docs"

MAX_STORED_FIGURES = 5_000_000
"""Bytes of all figures in git. Others are drawn when the site is built."""

MIN_CAPTION = 30
"""Letters of a caption that explains its figure."""

FIGURES_AND_CAPTION = r"((?:^!\[[^\n]*\n\n)+)(?:\*(.*?)\*$)?"
"""Figures on lines of their own, and the caption below them."""

VISIBLE, MAX_PIXELS = 64, 20
"""Difference of two grey values that one sees, and the pixels that may differ so much."""


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the scripts in `docs/tools` importable."""
    monkeypatch.syspath_prepend(str(DOCS / "tools"))
    yield


@pytest.mark.usefixtures("tools")
def test_every_published_score_counts_once() -> None:
    from published_scores import NUMBER, comparisons, shipped
    from stored_results import table

    rows = comparisons()
    assert not rows.duplicated(list(NUMBER)).any()
    numbers = rows.groupby(["source", "dataset", "metric"])["published"].nunique()
    assert (numbers[~numbers.index.get_level_values("source").str.startswith("Li &")] == 1).all()
    stored = table("book_uci").set_index(["method", "dataset"])["rmse_z"]
    assert {"bbb_x1", "bbb_x2"} <= set(stored.dropna().index.get_level_values("method"))
    assert "bbb_x1" not in set(rows["method"])
    assert set(rows["verdict"]) == {"agrees", "better", "worse"}
    assert {"book_uci", "tagi"} <= set(rows["folder"])
    assert shipped()["z"].notna().any()


@pytest.mark.usefixtures("tools")
def test_every_difference_has_causes_that_were_tried_and_no_cause_is_left_over() -> None:
    from causes import causes, explanation
    from published_scores import comparisons
    from stored_results import table

    rows = comparisons()
    used = set()
    for run in rows[rows["verdict"] != "agrees"].to_dict("records"):
        assert "(z " in explanation(run) or "seeds: " in explanation(run)
        used |= {tuple(cause.values()) for cause in causes(run)}
    known = table(".", "explanations").fillna("").astype(str)
    assert used == set(known.itertuples(index=False, name=None))


def test_the_commands_that_repeat_seeds_are_valid_sweeps() -> None:
    page = (DOCS / "results" / "published_scores.md").read_text()
    commands = re.findall(r"^bnnbench run -m (.*)$", page, re.M)
    assert len(commands) == 3
    for command in commands:
        jobs = job_overrides(*prepare_overrides(command.split(), sweep=True))
        seeds = Counter(word for job in jobs for word in job if word.startswith("seed="))
        assert len(seeds) == 5 and len(set(seeds.values())) == 1
        assert build(compose(*jobs[0])).record.metadata["experiment"].endswith("seeds")


@pytest.mark.usefixtures("tools")
def test_run_to_run_errors_of_tagi_are_those_of_both_sides() -> None:
    from published_scores import comparisons
    from stored_results import table

    rows = comparisons()
    tagi = rows[rows["method"].str.startswith("tagi")]
    assert (tagi["runs"] >= 5).all() and (tagi["published_runs"] == 5).all()
    score = tagi.query("dataset == 'yacht' and metric == 'rmse' and method == 'tagi_2024'").iloc[0]
    theirs = table(".", "published_seeds").query("dataset == 'yacht' and metric == 'rmse'")
    theirs = theirs.loc[theirs["method"].str.startswith("TAGI ("), "mean"]
    error = math.hypot(score["runs_std"] / score["runs"] ** 0.5, theirs.sem())
    assert score["run_to_run"] == pytest.approx((score["runs_mean"] - score["published"]) / error)


@pytest.mark.ci
@pytest.mark.usefixtures("tools")
def test_generated_numbers_are_up_to_date() -> None:
    from update_pages import MEASURED, PAGES, STORED, costs, filled, slowdown

    assert MEASURED.read_text() == slowdown()
    assert STORED.read_text() == costs()
    for page in PAGES:
        text = page.read_text()
        assert text == filled(text), f"{page.name}: run docs/tools/update_pages.py"


@pytest.mark.usefixtures("tools")
def test_a_number_of_any_length_leaves_a_page_as_it_is_meant() -> None:
    from update_pages import filled

    page = Rendered(filled("Of <!-- value 10**99 -->7<!-- /value --> see [these](a.md)."))
    assert page.faults() == [] and page.links == ["a.md"] and f"Of {10**99} see" in page.prose
    for start in ("", "  ", "- ", "> ", "1. "):
        text = f"A list:\n\n{start}<!-- value 3 -->7<!-- /value --> of [these](a.md)."
        assert Rendered(filled(text)).faults(), start


@pytest.mark.ci
@pytest.mark.usefixtures("tools")
@pytest.mark.filterwarnings("ignore")
def test_stored_verdicts_follow_the_rules_of_today() -> None:
    from stored_verdicts import verdict_tables

    for path, found in verdict_tables():
        stored = pd.read_csv(path).fillna({"verdict": NOT_JUDGED})
        assert list(stored) == list(found), path
        decided = stored.columns.intersection(["run_a", "run_b", "text", "rule", "outcome",
                                               "verdict"])  # fmt: skip
        assert stored[decided].equals(found[decided].astype(stored[decided].dtypes)), (
            f"{path}: run docs/tools/update_pages.py"
        )


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("evidence", "rule", "kept"),
    [
        ("the stored runs have no curves", "same", True),
        ("the stored runs have no curves", "changed", False),
        ("about mnist, not digits", "same", False),
    ],
)
def test_a_claim_keeps_the_verdict_of_its_run_only_by_the_same_rule(
    evidence: str, rule: str, kept: bool
) -> None:
    from stored_verdicts import or_stored

    claim = Claim("text", "source", NOT_JUDGED, evidence, rule)
    before = pd.DataFrame([replace(claim, verdict="confirmed", evidence="1.0", rule="same")])
    (found,) = or_stored([claim], before)
    assert (found.verdict, found.evidence) == (("confirmed", "1.0") if kept else
                                               (NOT_JUDGED, evidence))  # fmt: skip
    before["verdict"] = "of another scale"
    assert or_stored([claim], before) == [claim]


@pytest.mark.usefixtures("tools")
def test_claims_about_toys_are_counted_and_listed_by_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import page_blocks

    words = ["confirmed", "contradicted", "undecided", "undecided", NOT_JUDGED]
    texts = [f"C{k}" for k in range(len(words))]
    folder = tmp_path / "inference_toys"
    folder.mkdir()
    claims = pd.DataFrame({"text": texts, "verdict": words, "evidence": "1"})
    claims.to_csv(folder / "clutter_claims.csv", index=False)
    monkeypatch.setattr(page_blocks, "RESULTS", tmp_path)
    counts = [cell.strip() for cell in page_blocks.toy_claims().splitlines()[-1].split("|")]
    assert counts[3:-1] == ["1", "1", "2"]
    contradicted, undecided = page_blocks.toy_deviations().split("Undecided")
    assert [text for text in texts if text in contradicted] == ["C1"]
    assert [text for text in texts if text in undecided] == ["C2", "C3"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_code_of_the_scikit_learn_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mapie")
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "how_to" / "scikit_learn.md").read_text()
    names: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S):
        exec(block, names)
    assert names["ends"].shape == (len(names["X_new"]), 2, 1)
    assert len(names["run"].splits) == 5


@pytest.mark.ci
@pytest.mark.usefixtures("tools")
def test_stored_figures_are_legible_and_show_the_stored_results() -> None:
    from figures import DRAWN, FIGURES, png, small

    for name, draw in DRAWN.items():
        figure = draw()
        fresh = small(io.BytesIO(png(figure)))
        assert small_texts(figure) == [], name
        stored = Image.open(FIGURES / f"{name}.png")
        assert stored.size == fresh.size, name
        differs = abs(np.asarray(stored.convert("L"), int) - np.asarray(fresh.convert("L")))
        assert (differs > VISIBLE).sum() < MAX_PIXELS, f"{name}: run docs/tools/figures.py"


def test_files_that_contributors_are_told_about_exist() -> None:
    pages = [ROOT / "CONTRIBUTING.md", DOCS / "explanation" / "architecture.md"]
    code = [name for page in pages for name in rendered(page).code]
    names = [n for n in code if re.fullmatch(r"[\w./]+\.(py|cpp|h|yaml|sh)|\w+/[\w./]+\.json", n)]
    folders = (ROOT, PACKAGE, ROOT / "tests")
    missing = {name for name in names if not any((folder / name).exists() for folder in folders)}
    bare = {path.name for folder in (PACKAGE, DOCS / "tools") for path in folder.rglob("*.*")}
    assert names and missing <= bare


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_generated_block_is_empty_and_every_figure_has_a_caption(page: Path) -> None:
    text = rendered(page).source
    assert not re.search(r"^<!-- (\w+) -->\s*<!-- /\1 -->$|^:::", text, re.M)
    for figures, caption in re.findall(FIGURES_AND_CAPTION, text, re.M | re.S):
        assert len(caption) > MIN_CAPTION and "![]" not in figures, figures


@pytest.mark.usefixtures("tools")
def test_figures_of_reports_are_stored_at_the_resolution_of_all_others() -> None:
    from figures import DPI, small

    for dpi, size in ((2 * DPI, (30, 20)), (DPI, (60, 40))):
        source = io.BytesIO()
        Image.new("RGB", (60, 40)).save(source, "png", dpi=(dpi, dpi))
        assert small(source).size == size


def test_every_stored_figure_is_shown_and_they_are_small() -> None:
    figures = [path for path in DOCS.rglob("*.png")]
    text = "".join(page.read_text() for page in (ROOT / "README.md", *DOCS.rglob("*.md")))
    assert figures and all(f"{path.name})" in text for path in figures)
    assert sum(path.stat().st_size for path in figures) < MAX_STORED_FIGURES


@pytest.mark.usefixtures("tools")
def test_every_split_of_gathered_runs_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gather_results
    from gather_results import MAX_BYTES, store_splits

    monkeypatch.setattr(gather_results, "command_of", lambda folder: folder.root.name)

    assert not [path for path in DOCS.rglob("*.csv") if path.stat().st_size > MAX_BYTES]
    for dataset in ("boston", "yacht"):
        make_run(tmp_path / "runs", dataset=dataset, times=5)
        make_run(tmp_path / "runs", dataset=dataset, method="pbp", **{"hp.noise_precision": 3.0})
    runs = read_runs(tmp_path / "runs")
    store_splits(runs, tmp_path)
    tables = [pd.read_csv(tmp_path / f"splits_{name}.csv") for name in ("boston", "yacht")]
    stored = pd.concat(tables)
    assert len(stored) == len(runs.splits)
    assert {"hp.noise_precision", "fingerprint"} <= {*stored}
    means = stored.groupby("run")["rmse"].mean()
    assert means[runs.scored.index].tolist() == pytest.approx(runs.scored["rmse_mean"].tolist())
    large = pd.concat([runs.splits] * 500)
    with pytest.raises(ValueError, match="more than"):
        store_splits(replace(runs, splits=large), tmp_path)


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize(
    ("started", "units", "refused"),
    [
        ("1a2b", ["1a2b", "3c4d"], None),
        ("1a2b", [], None),  # a run without units
        ("1a2b+", ["1a2b"], "its commit is 1a2b+"),
        ("1a2b", ["1a2b", "1a2b+"], "its commit is 1a2b+"),
        ("1a2b", [None], "it has no commit"),
        (None, ["1a2b"], "it has no commit"),
    ],
)
def test_only_runs_of_committed_code_are_stored(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    started: str | None,
    units: list[str | None],
    refused: str | None,
) -> None:
    import gather_results
    from gather_results import gather

    monkeypatch.setattr(gather_results, "command_of", lambda folder: folder.root.name)

    folder = make_run(tmp_path / "runs", dataset="boston", times=5)
    folder.environment.write_text(json.dumps({"commit": started}))
    record = replace(read_record(folder), code_versions=[{"commit": unit} for unit in units])
    write_record(folder, record)
    target = tmp_path / "stored"
    target.mkdir()
    (target / "before.csv").touch()
    if refused is None:
        gather(tmp_path / "runs", target)
        assert (target / "machine.json").exists() and not (target / "before.csv").exists()
    else:
        with pytest.raises(UserError, match=re.escape(refused)):
            gather(tmp_path / "runs", target)
        assert [path.name for path in target.iterdir()] == ["before.csv"]


@pytest.fixture
def stored_images(tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder in which runs on images are stored."""
    import figures
    import gap_blocks
    import image_folders
    import image_runs

    for reader in (image_folders, gap_blocks):
        monkeypatch.setattr(reader, "RESULTS", tmp_path / "results")
    for module in (image_runs, figures):
        monkeypatch.setattr(module, "FIGURES", tmp_path / "figures")
    (tmp_path / "figures").mkdir()
    return tmp_path / "results" / "images"


PLANAR_RUN = ("K = 0", -75.5, -73.4), ("K = 1", -71.5, -71.4)
"""Setting, our log p(x) and the book's."""


def add_planar_run(
    folder: Path, verdict: str, evidence: str, published: bool = True, epochs: int = 100
) -> None:
    """Store a made-up run with two repetitions; more epochs make it better by 0.01 nats each."""
    folder.mkdir(parents=True)
    metadata = {"experiment": "planar_flows", "images": folder.name, "repetitions": 2}
    identity = {
        "evaluated_images": None, "importance_samples": 1024, "epochs": epochs, "repetitions": 2
    }  # fmt: skip
    write_record(RunFolder(folder), Record("planar_flows", "abc", metadata, identity))
    answers = pd.DataFrame(
        [Answer(quantities(1024)["log_p"], PLANAR, mean, label, 0.1, published=book)
         for label, mean, book in PLANAR_RUN]
    )  # fmt: skip
    if not published:
        answers["published"] = math.nan
    answers.to_csv(folder / "answers.csv", index=False)
    score = {"elbo_train": -80.0, "elbo": -83.0, "rate": 30.0, "distortion": 53.0,
             "active_units": 32, "probe_accuracy": 90.0}  # fmt: skip
    rows = [
        {
            "unit": f"flow-{label[-1]}",
            "repetition": k,
            "log_p": mean + 0.1 * k + (epochs - 100) / 100,
            **score,
        }
        for label, mean, _ in PLANAR_RUN
        for k in range(2)
    ]
    pd.DataFrame(rows).to_csv(folder / "scores.csv", index=False)
    curve = {"epoch": 1, "step": 1, "elbo_train": -80.0, "elbo_test": -83.0, "rate_train": 30.0,
             "rate_test": 30.0}  # fmt: skip
    curves = [{"unit": row["unit"], "repetition": row["repetition"], **curve} for row in rows]
    pd.DataFrame(curves).to_csv(folder / "curves.csv", index=False)
    texts = {"text": ["Flows help", "Fashion is hard"], "source": "book", "rule": "none"}
    claims = pd.DataFrame({**texts, "verdict": [verdict, NOT_JUDGED]})
    claims.assign(evidence=[evidence, f"about fashion_mnist, not {folder.name}"]).to_csv(
        folder / "claims.csv", index=False
    )


def test_pages_show_stored_runs_on_images_and_the_commands_of_others(stored_images: Path) -> None:
    from image_runs import BLOCKS, NOTHING

    shown = BLOCKS["planar_flows_results"]()
    assert "Digits" not in shown and shown.count("bnnbench run experiment=planar_flows") == 3
    for block in ("book_table_5_1", "planar_flows_claims"):
        assert BLOCKS[block]().startswith(NOTHING)
    add_planar_run(stored_images / "planar_flows" / "mnist", "confirmed", "+2.0")
    add_planar_run(
        stored_images / "planar_flows" / "digits",
        NOT_JUDGED,
        "about fashion_mnist, not digits",
        False,
    )
    shown = BLOCKS["planar_flows_results"]()
    mnist, longer, fashion, digits = shown.split("#### ")[1:]
    assert mnist.startswith("MNIST\n\n2 repetitions") and "| -75.50 ± 0.10" in mnist
    assert "experiment=planar_flows images=mnist" in longer and "experiment.epochs=300" in longer
    assert "figures/planar_flows_mnist_log_p_by_length.png" in mnist
    assert "images=fashion_mnist experiment.repetitions=2" in fashion and "2 hours" in fashion
    assert "figures/planar_flows_digits_log_p_by_length.png" in digits


def test_a_variant_is_shown_and_explained_next_to_the_main_run(stored_images: Path) -> None:
    from image_runs import BLOCKS

    add_planar_run(stored_images / "planar_flows" / "mnist", "confirmed", "+2.0")
    assert "300" not in BLOCKS["book_table_5_1"]()
    add_planar_run(stored_images / "planar_flows_300" / "mnist", NOT_JUDGED, "", False, 300)
    _, table, text = BLOCKS["book_table_5_1"]().split("\n\n", 2)
    assert table.count("K = 0") == 1
    assert "After 300 instead of 100 epochs" in text and "is -73.5 instead of -75.5" in text
    assert "-0.0 instead of -2.0 nats" in text
    mnist, longer, *_ = BLOCKS["planar_flows_results"]().split("#### ")[1:]
    assert "figures/planar_flows_300_mnist_elbo_by_epoch.png" in longer
    assert "planar_flows_300" not in mnist


@pytest.mark.parametrize(
    ("settings", "name", "replaces"),
    [
        ({"epochs": 100, "repetitions": 9}, "planar_flows", True),
        ({"epochs": 300, "repetitions": 9}, "planar_flows_300", True),
        ({"epochs": 99}, "planar_flows", False),
        ({"epochs": 300, "seed": 1}, "planar_flows_300", False),
        ({"epochs": 100, "lengths": [0]}, "planar_flows", False),
        ({"epochs": 100, "twice": 1}, "other", True),
        ({"epochs": 300, "twice": 1}, None, False),
    ],
)
def test_a_run_replaces_only_a_stored_run_with_its_settings(
    stored_images: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, Any],
    name: str | None,
    replaces: bool,
) -> None:
    import image_folders

    other = {"other": image_folders.Variant("planar_flows", "other", {"twice": 1})}
    monkeypatch.setattr(image_folders, "VARIANTS", {**image_folders.VARIANTS, **other})
    add_planar_run(stored_images / "planar_flows" / "mnist", "", "")
    add_planar_run(stored_images / "planar_flows_300" / "mnist", "", "", epochs=300)
    run = RunFolder(tmp_path / "run")
    run.root.mkdir()
    identity = {"evaluated_images": None, "importance_samples": 1024, **settings}
    write_record(run, Record("planar_flows", "abc", {"experiment": "planar_flows"}, identity))
    if name is None:
        with pytest.raises(UserError):
            image_folders.name_of("planar_flows", identity)
        return
    assert image_folders.name_of("planar_flows", identity) == name
    target = image_folders.folder_of(name, "mnist")
    if replaces:
        image_folders.check_same_settings(run, target)
    else:
        with pytest.raises(UserError):
            image_folders.check_same_settings(run, target)


@pytest.mark.usefixtures("tools")
def test_commands_of_missing_runs_are_valid() -> None:
    from image_folders import VARIANTS, kind_of, name_of
    from image_runs import COMMANDS

    assert {name for name, _ in COMMANDS} >= {*VARIANTS}
    for (name, images), (settings, _) in COMMANDS.items():
        config = compose(f"experiment={kind_of(name)}", f"images={images}", *settings.split())
        assert config["images"]["name"] == images
        assert name_of(config["experiment"]["label"], config["experiment"]) == name


def test_our_numbers_are_shown_next_to_those_of_the_book(stored_images: Path) -> None:
    from image_runs import BLOCKS

    add_planar_run(stored_images / "planar_flows" / "mnist", "confirmed", "+2.0")
    add_planar_run(stored_images / "planar_flows" / "digits", NOT_JUDGED, "", False)
    title, table, intro, tests, text, bounds = BLOCKS["book_table_5_1"]().split("\n\n")
    cells = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[2:]]
    assert cells == [
        [PLANAR, "K = 0", "2", "-75.50 ± 0.10", "-73.40 ± 0.20", "-2.1", "<0.001"],
        [PLANAR, "K = 1", "2", "-71.50 ± 0.10", "-71.40 ± 0.10", "-0.1", "0.519"],
    ]
    assert title == "**MNIST**"
    assert "2 repetitions" in intro
    assert "1 of 2 differ significantly, differences from -2.1 to -0.1" in tests
    assert bounds.startswith("We compare bounds of log p(x) with 1,024 draws.")
    assert (
        "gains 2.0 nats over" in text
        and "it gains 4 nats" in text
        and "is 3.0 nats higher on" in text
    )


@pytest.mark.parametrize(
    ("gaps", "shown"),
    [
        ({}, ["not measured yet: `python docs/tools/bound_gap.py`"]),
        ({"K = 0": 0.84}, ["0.84 nats (± 0.08) below", "100 test images for planar flow K = 0."]),
        (
            {"K = 0": 0.84, "K = 32": 1.22},
            ["0.84 to 1.22 nats (each ± 0.12 or less) below", "by up to 0.38 nats"],
        ),
    ],
)
def test_differences_of_models_stand_next_to_the_gap_of_the_bound(
    gaps: dict[str, float], shown: list[str], stored_images: Path
) -> None:
    from gap_blocks import bound_gap
    from image_runs import BLOCKS

    if gaps:
        rows = [
            {"model": PLANAR, "setting": setting, "images": 100, "draws": draws,
             "bound": -74.0 - left, "gap": left, "gap_error": left / 10, "epochs": 100,
             "repetition": 0}
            for setting, gap in gaps.items()
            for draws, left in ((1024, gap), (32768, 0.0))
        ]  # fmt: skip
        path = stored_images / "bound_gap" / "mnist.csv"
        path.parent.mkdir(parents=True)
        pd.DataFrame(rows).to_csv(path, index=False)
        table = bound_gap().split("\n\n")[0]
        cells = [[cell.strip() for cell in row.split("|")[3:-1]] for row in table.splitlines()[2:]]
        assert cells[0] == ["0", "-74.84", "-74.00", "0.840 ± 0.084"]
    add_planar_run(stored_images / "planar_flows" / "mnist", "confirmed", "+2.0")
    blocks = ("planar_flows_results", "planar_flows_claims", "book_table_5_1")
    for text in map(BLOCKS.__getitem__, blocks):
        assert "bounds of log p(x) with 1,024 draws" in text()
        assert all(part in text() for part in shown)


def test_claims_about_other_images_are_shown_only_if_no_run_tests_them(
    stored_images: Path,
) -> None:
    from image_runs import BLOCKS

    add_planar_run(stored_images / "planar_flows" / "mnist", "confirmed", "+2.0")
    add_planar_run(
        stored_images / "planar_flows" / "digits",
        NOT_JUDGED,
        "about fashion_mnist, not digits",
        False,
    )
    table, others, _ = BLOCKS["planar_flows_claims"]().split("\n\n")
    (row,) = table.splitlines()[2:]
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells == ["Flows help", "book", "MNIST", "confirmed", "+2.0"]
    assert others.startswith("Not judged (about ") and others.endswith(": Fashion is hard.")


def add_accuracies(folder: Path, repetitions: int, paired: float) -> None:
    """Store a made-up semi-supervised run on MNIST with 100 labels."""
    folder.mkdir(parents=True)
    metadata = {"experiment": "semi_supervised", "images": "mnist", "repetitions": repetitions}
    write_record(RunFolder(folder), Record("semi_supervised", "abc", metadata, {"epochs": 40}))
    means = {PAIRED: (paired, 68.0), SUPERVISED: (70.0, 20.4)}
    answers = [
        Answer(QUANTITIES["accuracy_equal"], APPROXIMATIONS[method], mean, "100 labels",
               0.5 if repetitions > 1 else math.nan, published=book)
        for method, (mean, book) in means.items()
    ]  # fmt: skip
    pd.DataFrame(answers).to_csv(folder / "answers.csv", index=False)
    scores = [{"unit": f"{method}-00100", "repetition": 0, "accuracy": mean, "accuracy_equal": mean}
              for method, (mean, _) in means.items()]  # fmt: skip
    pd.DataFrame(scores).to_csv(folder / "scores.csv", index=False)
    curve = {1: 15.0 + repetitions, 2: 30.0 + repetitions, 5: 50.0, 40: 70.0}
    curves = [{"unit": "supervised-00100", "repetition": 0, "epoch": epoch, "accuracy_test": value}
              for epoch, value in curve.items()]  # fmt: skip
    pd.DataFrame(curves).to_csv(folder / "curves.csv", index=False)


def test_the_page_says_which_reading_reproduces_the_accuracies(stored_images: Path) -> None:
    from image_runs import BLOCKS

    add_accuracies(stored_images / "semi_supervised" / "mnist", 2, 77.0)
    assert BLOCKS["book_table_5_2"]().count("None is below 1.5 points") == 2
    add_accuracies(stored_images / "semi_supervised_labelled" / "mnist", 5, 68.5)
    *tables, _, _, semi, supervised, early = BLOCKS["book_table_5_2"]().split("\n\n")
    assert tables[::2] == ["**MNIST**", "**MNIST, epochs over labelled images**"]
    assert [table.count("\n") for table in tables[1::2]] == [3, 3] and "0.374" in tables[3]
    assert "paired batches (2 repetitions): 9.0;" in semi
    assert "reproduction: paired batches, epochs over labelled images (5 repetitions)." in semi
    assert "after 1 epoch: 0.4; after 2 epochs: 14.6; after 40 epochs: 49.6" in supervised
    assert "reproduction: after 1 epoch." in supervised
    cells = [cell.strip() for cell in early.splitlines()[-1].split("|")[1:-1]]
    assert cells == ["100 labels", "20.4", "20.0", "35.0", "70.0"]


def test_a_single_repetition_is_not_tested(stored_images: Path) -> None:
    from image_runs import BLOCKS

    add_accuracies(stored_images / "semi_supervised" / "mnist", 1, 77.0)
    text = BLOCKS["book_table_5_2"]()
    assert text.count("not tested") == 2 and "power" not in text


@pytest.mark.slow
def test_a_run_on_images_is_stored_with_its_figures(
    stored_images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gather_results
    import image_runs

    words = ["lengths=[0]", "training_samples=[]", "epochs=1", "repetitions=1", "hidden=[2]",
             "importance_samples=5"]  # fmt: skip
    settings = [f"experiment.{word}" for word in words]
    outputs = tmp_path / "outputs"
    run = build(
        compose("experiment=planar_flows", *settings, "workers=1", f"outputs_dir={outputs}")
    )
    execute(run)
    monkeypatch.setattr(gather_results, "check_committed", lambda folder: None)
    old = tmp_path / "figures" / "planar_flows_digits_old.png"
    old.touch()
    gather_results.gather(outputs / "planar_flows", tmp_path / "unused")
    stored = stored_images / "planar_flows" / "digits"
    names = {"answers.csv", "claims.csv", "curves.csv", "machine.json", "record.json", "scores.csv"}
    assert {path.name for path in stored.iterdir()} == names
    drawn = {path.name for path in old.parent.iterdir()}
    assert drawn == {"planar_flows_digits_elbo_by_epoch.png",
                     "planar_flows_digits_log_p_by_length.png"}  # fmt: skip
    assert not (tmp_path / "unused").exists()
    assert "1 repetition (" in image_runs.BLOCKS["planar_flows_results"]()


@pytest.fixture
def stored_sprinkler(tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the stored table of sprinkler runs, next to which runs are stored."""
    import gather_results
    import sprinkler_runs

    path = tmp_path / sprinkler_runs.FOLDER / f"{sprinkler_runs.RUNS}.csv"
    path.parent.mkdir()
    lines = (DOCS / "results" / path.relative_to(tmp_path)).read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if '"optimal, joint' not in line))
    monkeypatch.setattr(sprinkler_runs, "RESULTS", tmp_path)
    monkeypatch.setattr(sprinkler_runs, "table", lambda *_: pd.read_csv(path))
    monkeypatch.setattr(gather_results, "check_committed", lambda folder: None)
    return path


GAN_D = ("contrast=prior", "schedule=undertrained", "divergence=gan", "estimator=class_probability")

STABLE = ("contrast=joint", "schedule=optimal", "divergence=gan", "numerics=stable")


@pytest.mark.parametrize(
    ("settings", "number", "row", "replaced", "is_shown"),
    [
        (GAN_D, "9.1", "prior, GAN, D", 1, True),
        ((*GAN_D, "samples=50"), "9.1", "prior, GAN, D", 0, False),
        (STABLE, "8.2", "joint, GAN, r", 0, True),
    ],
)
def test_a_gathered_sprinkler_run_replaces_the_row_of_its_settings(
    stored_sprinkler: Path, tmp_path: Path, settings: tuple[str, ...], number: str, row: str,
    replaced: int, is_shown: bool,
) -> None:  # fmt: skip
    import gather_results
    import sprinkler_runs

    before = stored_sprinkler.read_text().splitlines()
    for ends, status in (([1.5, 1.5], [OK, OK]), ([1.3, 1.4, 2185.0], [OK, OK, DIVERGED])):
        outputs = tmp_path / f"outputs{len(ends)}"
        finished_run(outputs, *settings, ends=ends, status=status)
        gather_results.gather(outputs / "sprinkler", tmp_path / "unused")
    after = stored_sprinkler.read_text().splitlines()
    assert len(after) == len(before) + 1 - replaced
    (changed,) = {*after} - {*before}
    assert "1 of 3 diverged" in changed and len({*before} - {*after}) == replaced
    (run,) = sprinkler_runs.gathered_runs()
    assert run.sample().size == 2 and run.finished_curves["repetition"].nunique() == 2
    rows = sprinkler_runs.thesis_table(number).splitlines()
    (shown,) = (line for line in rows if row in line)
    assert ("1 of 3 diverged" in shown and "1.350" in shown) == is_shown
    assert ("1.3000, 1.4000" in sprinkler_runs.optimal_joint()) == (settings == STABLE)
    assert len(sprinkler_runs.checked()) == len(sprinkler_claims)


def test_a_missing_table_of_the_thesis_names_its_command(
    stored_sprinkler: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sprinkler_runs

    rows = pd.read_csv(stored_sprinkler)
    is_missing = rows["configuration"].str.startswith("optimal, joint")
    monkeypatch.setattr(sprinkler_runs, "table", lambda *_: rows[~is_missing])
    assert sprinkler_runs.optimal_joint() == sprinkler_runs.NOT_RUN


@pytest.mark.usefixtures("tools")
def test_stored_splits_give_the_stored_paired_differences() -> None:
    from paired_scores import pairs_of
    from stored_results import splits, table

    expected = table("gal_uci", "paired_with_published")
    found = pd.DataFrame(pairs_of(table("gal_uci").set_index("run"), splits("gal_uci")))
    found = found[found.pop("settings") == "same"].reset_index(drop=True)
    pd.testing.assert_frame_equal(found[list(expected)], expected, rtol=1e-3, atol=1e-6)


@pytest.mark.usefixtures("tools")
def test_pairs_need_equal_or_unknown_settings(tmp_path: Path) -> None:
    from paired_scores import pairs_of

    tested = published_splits().query("dataset == 'wine'").head(4)["fingerprint"].tolist()
    for method in ("mc_dropout_gal2016", "mc_dropout_x1"):
        facts = {"dataset": "wine", "method": method, "family": "mc_dropout"}
        make_run(tmp_path, **facts, fingerprint=tested, times=5)
    runs = read_runs(tmp_path)
    pairs = pairs_of(with_published(runs), runs.splits)
    assert [pair["method"] for pair in pairs] == ["mc_dropout_gal2016"]


@pytest.mark.usefixtures("tools")
def test_splits_on_a_search_bound_are_counted_by_method() -> None:
    from page_blocks import on_bound

    splits = pd.DataFrame({
        "method": ["vadam", "vadam", "bbb_x1", "bbb_x1", "pbp"],
        "at_bound": ["noise_precision", "noise_precision dropout", "noise_precision", "", ""],
        "hp.noise_precision": [148.4, 148.0, 1.0, 148.4, math.nan],
        "hp.prior_precision": [1.0, 54.5, 1.0, 1.0, math.nan],
    })  # fmt: skip
    assert on_bound(splits, "boston", "noise_precision", "upper") == "vadam 2"
    assert on_bound(splits, "boston", "noise_precision", "lower") == "bbb_x1 1"
    assert on_bound(splits, "boston", "prior_precision", "lower") == MISSING
