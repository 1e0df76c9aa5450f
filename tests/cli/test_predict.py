"""`bnnbench predict`: columns, formats, coverage of intervals, mistakes."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from support.command import Command
from support.quick import slow_except
from support.tiny_runs import finished, tiny_run

from bnnbench.data.own_table.columns.encoding import encode_rows
from bnnbench.experiment.store.run_folder import find_run
from bnnbench.prediction.final_model import load_or_fit
from bnnbench.run_all import run_all

pytestmark = pytest.mark.usefixtures("without_figures")


NAMES = ["row", "mean", "lower", "upper", "standard_deviation", "epistemic", "noise"]
NAMES += ["outside_training_region"]


def made(rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    kind = rng.choice(["red", "blue"], rows)
    y = x[:, 0] + (kind == "red") + 0.3 * rng.normal(size=rows)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "kind": kind, "y": y})


@pytest.fixture
def ran(tmp_path: Path) -> Path:
    """The folder of a finished run."""
    return run_linear(tmp_path, made(120, 0))


def run_linear(tmp_path: Path, data: pd.DataFrame | str, *settings: str) -> Path:
    """Run `linear` on a frame or on a file, and return the folder."""
    path = Path(data) if isinstance(data, str) else tmp_path / "t.csv"
    if not isinstance(data, str):
        data.to_csv(path, index=False)
    words = ("dataset.categorical=onehot", "method=linear", "evaluation.out_of_fold=true")
    return finished(tiny_run(path, tmp_path / "o", *words, *settings))[0].root


def test_columns_are_matched_by_name(command: Command, ran: Path, tmp_path: Path) -> None:
    new = made(50, 1)
    new.to_csv("new.csv", index=False)
    code, out, errors = command("predict", str(ran), "new.csv", "--id-columns", "y")
    assert code == 0, errors
    found = pd.read_csv(StringIO(out))
    np.testing.assert_allclose(found.pop("y"), new["y"], rtol=1e-4)
    code, out, errors = command("predict", str(ran), "new.csv")
    assert code == 0, errors
    assert list(pd.read_csv(StringIO(out))) == ["row", "y", *NAMES[1:]]
    new.assign(**{"7.10": 1, "p,q": 2}).to_csv("new.csv", index=False)
    out = command("predict", str(ran), "new.csv", "--id-columns", "7.10,'p,q'")[1]
    assert list(pd.read_csv(StringIO(out))) == ["row", "7.10", "p,q", *NAMES[1:]]
    new.drop(columns="y").to_csv("new.csv", index=False)
    out = command("predict", str(ran), "new.csv")[1]
    assert list(found) == NAMES and found["row"].tolist() == list(range(1, 51))
    assert np.corrcoef(found["mean"], new["y"])[0, 1] > 0.9
    parts = np.hypot(found["epistemic"], found["noise"])
    np.testing.assert_allclose(found["standard_deviation"], parts, rtol=1e-4)
    other = new[["kind", "b", "a"]].assign(more=1, mean="mine")
    other.to_csv("other.csv", index=False, sep=";")
    code, again, _ = command("predict", str(tmp_path / "o"), "other.csv")
    table = pd.read_csv(StringIO(again))
    assert code == 0 and list(table) == ["row", "more", "mean (given)", *NAMES[1:]]
    pd.testing.assert_frame_equal(table[NAMES], found)


def test_copied_columns_are_unchanged(command: Command, ran: Path) -> None:
    rows = ["NA,7,1.0,1,2,red", " None,007,2.50,1,2,blue", '"1,5",null,,1,2,red']
    names = ["row", "row (given)", "code", "a", "b", "kind"]
    Path("new.csv").write_text("\n".join([",".join(names), *rows]))
    command("predict", str(ran), "new.csv", "-o", "out.csv")
    found = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    assert list(found)[:4] == ["row", "row (given) (given)", "row (given)", "code"]
    assert found["row (given) (given)"].tolist() == ["NA", " None", "1,5"]
    assert found["row (given)"].tolist() == ["7", "007", "null"]
    assert found["code"].tolist() == ["1.0", "2.50", ""]
    new = pd.read_csv("new.csv", keep_default_na=False, dtype={"row (given)": str})
    new.to_excel("new.xlsx", index=False)
    command("predict", str(ran), "new.xlsx", "-o", "out.csv")
    found = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    assert found["row (given) (given)"].tolist() == ["NA", " None", "1,5"]
    assert found["row (given)"].tolist() == ["7", "007", "null"]


@pytest.mark.parametrize(
    "columns",
    slow_except(
        [
            {"day": ("%d/%m/%Y", "2019-01-01", "D")},
            {"when": ("%Y%m%d%H", "2019-01-01", "h")},
            {"Jahr": ("%Y", "1990-01-01", "MS"), "Monat": ("%m", "1990-01-01", "MS")},
            {"Monat": ("%b-%y", "1990-01-01", "MS")},
        ],
        {"day": ("%d/%m/%Y", "2019-01-01", "D")},
    ),
)
def test_later_rows_are_no_extrapolation_and_keep_their_dates(
    command: Command, tmp_path: Path, columns: dict[str, tuple[str, str, str]]
) -> None:
    """The few dates of the new rows are read in the order of the run's table."""
    frame = made(130, 0).drop(columns="kind")
    for name, (form, start, step) in columns.items():
        frame[name] = pd.date_range(start, periods=130, freq=step).strftime(form)
    frame[:124].to_csv(tmp_path / "t.csv", index=False)
    ran = run_linear(tmp_path, str(tmp_path / "t.csv"), f"dataset.time=[{','.join(columns)}]")
    new = frame[124:].assign(a=[0.0, 0, 0, 0, 0, 99], b=0.0).drop(columns="y")
    new.to_csv("new.csv", index=False)
    code, out, errors = command("predict", str(ran), "new.csv")
    assert code == 0, errors
    found = pd.read_csv(StringIO(out), dtype=dict.fromkeys(columns, str))
    assert found["outside_training_region"].tolist() == [False] * 5 + [True]
    assert found[[*columns]].equals(new[[*columns]].reset_index(drop=True))
    assert list(found) == ["row", *columns, *NAMES[1:]]
    if list(columns) == ["day"]:
        model = load_or_fit(find_run(ran))
        days, _, _ = encode_rows(new, model.encodings, "new.csv")
        assert np.diff(days[:, list(model.features).index("day")]).tolist() == [1.0] * 5


@pytest.mark.parametrize("suffix", slow_except([".csv", ".xlsx", ".parquet"], ".csv"))
def test_codes_of_digits_are_known_categories(
    command: Command, tmp_path: Path, suffix: str
) -> None:
    frame = made(60, 0).assign(kind=[["1", "2", "true", "B", "C"][i % 5] for i in range(60)])
    ran = run_linear(tmp_path, frame)
    codes = ["1", "2", None, "1"] if suffix == ".csv" else [1, 2, None, 1]
    new = made(4, 1).assign(kind=codes)
    write = {".csv": new.to_csv, ".xlsx": new.to_excel, ".parquet": new.to_parquet}[suffix]
    write(f"new{suffix}", index=False)  # type: ignore[operator]
    code, out, errors = command("predict", str(ran), f"new{suffix}")
    assert code == 0 and "does not contain" not in errors and "in 1 row" in errors
    new["kind"] = "1", "2", "B", "1"
    new.to_csv("words.csv", index=False)
    words = pd.read_csv(StringIO(command("predict", str(ran), "words.csv")[1]))
    found = pd.read_csv(StringIO(out))
    assert found["mean"].drop(2).tolist() == words["mean"].drop(2).tolist()


def test_the_names_of_new_rows_may_be_in_another_line(command: Command, tmp_path: Path) -> None:
    rows = made(40, 0).to_csv(index=False)
    (tmp_path / "t.csv").write_text(f"Site,Ulm,,\nVersion,2,,\n{rows}")
    ran = run_linear(tmp_path, str(tmp_path / "t.csv"), "dataset.header=3")
    made(3, 1).to_csv("new.csv", index=False)
    code, out, errors = command("predict", str(ran), "new.csv")
    assert code == 0 and len(out.splitlines()) == 4, errors


def test_a_column_of_categories_may_be_empty(command: Command, ran: Path) -> None:
    made(3, 1).assign(kind=None).to_csv("new.csv", index=False)
    code, out, errors = command("predict", str(ran), "new.csv")
    assert code == 0 and len(out.splitlines()) == 4 and "3 rows" in errors


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252"])
def test_the_output_has_the_format_of_the_input(command: Command, ran: Path, encoding: str) -> None:
    new = made(6, 1).drop(columns="y").assign(Menge=1.5, Prüfer="Jörg")
    new.insert(0, "Charge", [f"0{i}" for i in range(6)])
    new.to_csv("new.csv", index=False, sep=";", decimal=",", encoding=encoding)
    code, _, errors = command("predict", str(ran), "new.csv", "-o", "out.csv")
    assert code == 0, errors
    text = Path("out.csv").read_bytes().decode(encoding)
    assert text.splitlines()[0] == ";".join(["row", "Charge", "Menge", "Prüfer", *NAMES[1:]])
    assert text.splitlines()[1].startswith("1;00;1,5;Jörg;") and "." not in text
    found = pd.read_csv(StringIO(text), sep=";", decimal=",")
    plain = pd.read_csv(StringIO(command("predict", str(ran), "new.csv")[1]))
    np.testing.assert_allclose(found[NAMES].astype(float), plain[NAMES].astype(float), rtol=1e-4)


CYRILLIC = {"a": "цена", "b": "вес"}


def test_new_rows_are_read_with_the_settings_of_the_run(command: Command, tmp_path: Path) -> None:
    """Options override them; settings of another kind of file are not used."""
    pytest.importorskip("openpyxl")
    train, new = (made(60, seed).rename(columns=CYRILLIC) for seed in (0, 1))
    new = new.drop(columns="y")
    settings = ("dataset.encoding=cp1251", "dataset.separator=semicolon", "dataset.decimal=','")
    train.to_csv("train.csv", index=False, sep=";", decimal=",", encoding="cp1251")
    ran = run_linear(tmp_path, "train.csv", *settings)
    new.to_csv("new.csv", index=False, sep=";", decimal=",", encoding="cp1251")
    code, expected, errors = command("predict", str(ran), "new.csv")
    assert code == 0, errors
    new.to_excel("new.xlsx", index=False)
    assert command("predict", str(ran), "new.xlsx")[:2] == (0, expected)
    new.to_csv("plain.csv", index=False)
    options = ("--encoding", "utf-8", "--separator", "comma", "--decimal", "auto")
    assert command("predict", str(ran), "plain.csv", *options)[:2] == (0, expected)
    Path("vague.csv").write_text("цена;вес;kind\n1.230;2;red\n")
    words = ("vague.csv", "--encoding", "utf-8", "--decimal", "auto")
    code, _, errors = command("predict", str(ran), *words)
    assert code == 2 and "--decimal=. or --decimal=,." in errors
    for wrong in (("--separator", "dot"), ("--encoding", "none"), ("--sheet", "2")):
        code, out, errors = command("predict", str(ran), "new.csv", *wrong)
        assert code == 2 and not out and wrong[0] in errors and "dataset." not in errors


def test_the_sheet_of_the_run_is_read(command: Command, tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    for name, seed in (("train", 0), ("new", 1)):
        with pd.ExcelWriter(f"{name}.xlsx") as book:
            made(60, seed + 5).to_excel(book, sheet_name="other", index=False)
            made(60, seed).to_excel(book, sheet_name="data", index=False)
    ran = run_linear(tmp_path, "train.xlsx", "dataset.sheet=data")
    made(60, 1).drop(columns="y").to_csv("new.csv", index=False)
    code, expected, errors = command("predict", str(ran), "new.csv")
    assert code == 0, errors
    mean = pd.read_csv(StringIO(expected))["mean"].tolist()
    for option, equal in (((), True), (("--sheet", "other"), False)):
        code, out, errors = command("predict", str(ran), "new.xlsx", *option)
        assert code == 0, errors
        assert (pd.read_csv(StringIO(out))["mean"].tolist() == mean) is equal


@pytest.mark.parametrize("calibrate", slow_except(["none", "isotonic", "conformal"], "conformal"))
def test_intervals_have_their_coverage(command: Command, ran: Path, calibrate: str) -> None:
    new = made(2000, 2)
    new.to_csv("new.csv", index=False)
    words = ("--interval", "0.8", "--calibrate", calibrate, "-o", "out.csv")
    code, out, errors = command("predict", str(ran), "new.csv", *words)
    assert code == 0 and out == "predictions: out.csv\n", errors
    found = pd.read_csv("out.csv")
    inside = (found["lower"] <= new["y"]) & (new["y"] <= found["upper"])
    assert 0.7 < inside.mean() < 0.92


def test_notes_on_unseen_categories_and_missing_cells(command: Command, ran: Path) -> None:
    new = made(5, 3)
    new["kind"] = ["red", "green", "blue", "red", "red"]
    new["a"] = [1.0, np.nan, 2, 3, 4]
    new.to_csv("new.csv", index=False)
    code, out, errors = command("predict", str(ran), "new.csv")
    assert code == 0 and len(out.splitlines()) == 6
    assert "kind" in errors and "green (row 2)" in errors and "1 cell" in errors
    assert "1 with an unknown category" in errors
    assert pd.read_csv(StringIO(out))["outside_training_region"][1]


def test_rows_outside_the_training_region_are_marked(command: Command, ran: Path) -> None:
    made(5, 3).assign(a=[0, 0, 99, 0, -99], b=0).to_csv("new.csv", index=False)
    code, out, errors = command("predict", str(ran), "new.csv")
    assert code == 0 and "2 of 5 rows" in errors and "2 outside the range of a" in errors
    marks = pd.read_csv(StringIO(out))["outside_training_region"]
    assert marks.tolist() == [False, False, True, False, True]


@pytest.mark.parametrize(
    ("precision", "says"),
    slow_except([(10.0, ""), (1e4, "too narrow"), (1e-3, "too wide")], 1e4),
)
def test_the_sentence_of_the_run_about_its_intervals_is_repeated(
    command: Command, tmp_path: Path, precision: float, says: str
) -> None:
    path = tmp_path / "t.csv"
    made(120, 0).to_csv(path, index=False)
    words = (f"method.noise_precision={precision}", "method=map", "dataset.categorical=onehot")
    (folder,) = run_all([tiny_run(path, tmp_path / "o", *words, "training.final_epochs=200")])
    made(3, 1).drop(columns="y").to_csv("new.csv", index=False)
    for options, repeated in (([], says), (["--interval", "0.5"], says)):
        code, _, errors = command("predict", str(folder.root), "new.csv", *options)
        assert code == 0 and ("test rows of the run" in errors) == bool(repeated), errors
        assert repeated in errors
    _, _, errors = command("predict", str(folder.root), "new.csv", "--calibrate", "conformal")
    assert "test rows of the run" not in errors


@pytest.mark.parametrize(
    ("targets", "rows"),
    [([], 0), (["", "NA", ""], 0), (["1.5", "NA", "-2"], 2), (["1", "2", "3"], 3)],
)
def test_rows_with_a_target_are_scored(
    command: Command, ran: Path, targets: list[str], rows: int
) -> None:
    new = made(3, 1).drop(columns="y")
    (new.assign(y=targets) if targets else new).to_csv("new.csv", index=False)
    code, out, errors = command("predict", str(ran), "new.csv", "--interval", "0.8")
    assert code == 0 and ("RMSE" in errors) == bool(rows)
    if not rows:
        return
    found = pd.read_csv(StringIO(out))
    y = pd.to_numeric(found["y"], errors="coerce")
    error = np.sqrt(((y - found["mean"]) ** 2).mean())
    inside = ((found["lower"] <= y) & (y <= found["upper"])).sum()
    density = norm.logpdf(y, found["mean"], found["standard_deviation"])  # one Gaussian: linear
    text = " ".join(errors.split())
    assert f"RMSE {error:.4g}," in text and f"contain {inside} of {rows} targets" in text
    assert f"log-likelihood {np.nanmean(density):.3g}"[:-1] in text


def test_targets_with_a_unit_are_scored(command: Command, tmp_path: Path) -> None:
    frame = made(60, 0)
    frame["y"] = frame["y"].round(3).astype(str) + " km"
    ran = run_linear(tmp_path, frame)
    new = made(3, 1)
    new["y"] = new["y"].round(3).astype(str) + " km"
    new.to_csv("new.csv", index=False)
    assert "new.csv has y in 3 rows" in command("predict", str(ran), "new.csv")[2]


def test_training_rows_and_texts_are_not_scored_silently(command: Command, ran: Path) -> None:
    made(120, 0).head(5).to_csv("known.csv", index=False)
    assert (
        "5 of them have the inputs of a training row"
        in command("predict", str(ran), "known.csv")[2]
    )
    made(3, 1).assign(y=["1", "high", "2"]).to_csv("new.csv", index=False)
    code, _, errors = command("predict", str(ran), "new.csv")
    assert code == 0 and "no scores" in errors and "'high'" in errors


def test_rows_to_label_next(command: Command, ran: Path) -> None:
    """The variance of a linear model grows with the distance from the mean of its inputs."""
    pool = made(30, 3).assign(key=[f"0{i}" for i in range(30)])
    pool.loc[[4, 7, 9], "a"] = [-40.0, 30.0, 39.9]
    pool.to_csv("pool.csv", index=False)
    code, out, errors = command(
        "predict", str(ran), "--next", "3", "pool.csv", "--id-columns", "key"
    )
    assert code == 0 and len(errors.splitlines()) == 1
    found = pd.read_csv(StringIO(out), dtype={"key": str})
    assert list(found) == ["row", "key", "score"] and found["score"].is_monotonic_decreasing
    assert found["row"][0] == 5 and found["key"][0] == "04"
    # Given the label of row 5, row 10 on the same line is nearly known, like all others.
    alone = pd.read_csv(StringIO(command("predict", str(ran), "pool.csv")[1]))["epistemic"]
    assert found["score"][0] == pytest.approx(alone[4], rel=1e-4)
    assert found["score"][1] < 0.5 * alone[9]


def test_mistakes_are_one_sentence(command: Command, ran: Path) -> None:
    made(5, 3).drop(columns="b").to_csv("lacks.csv", index=False)
    made(5, 3).assign(a=[1, 2, "x", 3, "z"]).to_csv("words.csv", index=False)
    made(5, 3).head(0).to_csv("none.csv", index=False)
    made(5, 3).to_csv("new.csv", index=False)
    wrong: dict[tuple[str, ...], tuple[str, str | None]] = {
        ("lacks.csv",): ("b", "missing_column"),
        ("words.csv",): ("a", None),
        ("none.csv",): ("FILE", "no_rows"),
        ("nowhere.csv",): ("dataset.path", "file_not_found"),
        ("new.csv", "--interval", "1"): ("--interval", None),
        ("new.csv", "--interval", "0.99", "--calibrate", "conformal"): ("--interval", "few_rows"),
        ("new.csv", "--calibrate", "magic"): ("--calibrate", None),
        ("new.csv", "--next", "0"): ("--next", None),
        ("new.csv", "--next", "6"): ("--next", "few_rows"),
        ("new.csv", "--next", "2", "--calibrate", "isotonic"): ("--next", "no_intervals"),
        ("new.csv", "-o", "."): ("--output", None),
        ("new.csv", "--id-columns", "Charge"): ("--id-columns", None),
    }
    for words, (setting, case) in wrong.items():
        command.assert_refused("predict", str(ran), *words, setting=setting, code=case)
    for folder, case in {"nowhere": "not_a_folder", ".": "no_run"}.items():
        command.assert_refused("predict", folder, "new.csv", setting="RUN", code=case)


def test_predictions_that_are_not_finite_are_refused(command: Command, ran: Path) -> None:
    made(3, 1).assign(a=[1, 2, -1e39]).to_csv("new.csv", index=False)
    command.assert_refused("predict", str(ran), "new.csv", code="not_finite")


def test_isotonic_intervals_report_where_their_data_end(command: Command, ran: Path) -> None:
    made(3, 1).to_csv("new.csv", index=False)
    for level, noted in {"0.9": False, "0.999": True}.items():
        words = ("--calibrate", "isotonic", "--interval", level)
        _, _, errors = command("predict", str(ran), "new.csv", *words)
        assert ("out-of-fold" in errors) is noted


def replace(old: str, new: str) -> Callable[[bytes], bytes]:
    return lambda content: content.replace(old.encode(), new.encode(), 1)


@pytest.mark.slow
def test_damaged_runs_are_refused(command: Command, ran: Path) -> None:
    changes: list[tuple[str, Callable[[bytes], bytes]]] = [
        ("config.yaml", replace("seed: 0", "seed: 1")),
        ("config.yaml", replace("device:", "machine:")),
        ("config.yaml", lambda content: b""),
        ("config.yaml", lambda content: b"[" * 3000),
        ("config.yaml", lambda content: content + b"\xff"),
        ("config.yaml", lambda content: content + b"\n\t- a"),
        ("splits.csv", replace("linear", "lineer")),
    ]
    made(3, 1).to_csv("new.csv", index=False)
    for name, change in changes:
        before = (ran / name).read_bytes()
        (ran / name).write_bytes(change(before))
        assert (ran / name).read_bytes() != before
        command.assert_refused("predict", str(ran), "new.csv", setting=name, code="damaged")
        (ran / name).write_bytes(before)


def test_a_model_is_fitted_again_if_its_run_was_extended(command: Command, ran: Path) -> None:
    made(3, 1).to_csv("new.csv", index=False)
    first = command("predict", str(ran), "new.csv")
    with (ran / "config.yaml").open("a") as file:
        file.write("# a comment\n")
    model = (ran / "model" / "model.json").read_bytes()
    assert command("predict", str(ran), "new.csv")[1] == first[1]
    assert (ran / "model" / "model.json").read_bytes() != model


def test_changed_data_are_refused(command: Command, ran: Path, tmp_path: Path) -> None:
    made(120, 9).to_csv(tmp_path / "t.csv", index=False)
    made(5, 3).to_csv("new.csv", index=False)
    words = (str(ran), "new.csv")
    command.assert_refused("predict", *words, setting="RUN", code="data_changed")
