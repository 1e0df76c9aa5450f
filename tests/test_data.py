"""The data layer: every source, every way its files can be wrong, and how files are got."""

from __future__ import annotations

import argparse
import functools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bnnbench.cli.data import add_parser
from bnnbench.data import archive
from bnnbench.data.csv_table import CSV
from bnnbench.data.embedded import Diabetes
from bnnbench.data.splits import seeded_splits
from bnnbench.data.uci import UCI
from bnnbench.types import Table, UserError

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
NOWHERE = "http://127.0.0.1:9/"  # nothing listens there: refused at once, no network needed

SHAPES = {
    "boston": (506, 13),
    "concrete": (1030, 8),
    "energy": (768, 8),
    "kin8nm": (8192, 8),
    "naval": (11934, 16),
    "power": (9568, 4),
    "protein": (45730, 9),
    "wine": (1599, 11),
    "yacht": (308, 6),
}


@pytest.fixture
def data() -> Path:
    """The folder BNNBENCH_DATA names; a test that needs it is skipped without one."""
    folder = os.environ.get("BNNBENCH_DATA")
    if not folder:
        pytest.skip("BNNBENCH_DATA is not set")
    return Path(folder)


@pytest.fixture
def yacht(data: Path, tmp_path: Path) -> Path:
    """A data folder that holds a private copy of yacht only."""
    folder = tmp_path / "uci"
    archive.fetch(["yacht"], folder, source=data)
    return folder


@pytest.fixture
def served(yacht: Path) -> Iterator[str]:
    """The address of a local server of that copy."""
    handler = functools.partial(QuietHandler, directory=str(yacht))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves files without a log line for each."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def configured(name: str, **changes: Any) -> tuple[Any, dict[str, Any]]:
    """A data set's configuration as Hydra composes it: the source, and its `protocol`."""
    from hydra import compose, initialize_config_dir
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    with initialize_config_dir(str(CONFIGS), version_base="1.3"):
        config = compose(overrides=[f"+dataset={name}", "+data_dir=data"])
    node: Any = OmegaConf.to_container(config.dataset, resolve=True)
    protocol = node.pop("protocol")
    return instantiate(node | changes), protocol


def check_splits(table: Table, n_splits: int) -> None:
    """Each split parts the rows: nothing shared, nothing left out."""
    assert [split.index for split in table.splits] == list(range(n_splits))
    for split in table.splits:
        rows = np.concatenate([split.train, split.test])
        assert np.array_equal(np.sort(rows), np.arange(len(table.targets)))


def assert_one_sentence(error: pytest.ExceptionInfo[UserError], *parts: str) -> None:
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text
    for part in parts:
        assert part in text


# --- the UCI sets


@pytest.mark.parametrize("name", SHAPES)
def test_uci_set_loads_whole(name: str, data: Path) -> None:
    source, _ = configured(name, directory=str(data), base_url=NOWHERE)
    table = source.load()
    assert table.inputs.shape == SHAPES[name]
    assert table.targets.shape == SHAPES[name][:1]
    assert table.inputs.dtype == table.targets.dtype == np.float64
    assert len(set(table.features)) == SHAPES[name][1]
    assert f"{SHAPES[name][0]} x {SHAPES[name][1]}" in source.summary
    check_splits(table, 5 if name == "protein" else 20)
    # The published splits hold out a tenth of the rows.
    assert all(abs(len(s.test) - len(table.targets) / 10) < 1 for s in table.splits)


def test_seeded_splits_take_the_place_of_the_published_ones(data: Path) -> None:
    published, _ = configured("yacht", directory=str(data))
    seeded, _ = configured("yacht", directory=str(data), seeded_splits=30)
    other, _ = configured("yacht", directory=str(data), seeded_splits=30, split_seed=1)
    tables = [source.load() for source in (published, seeded, other)]
    check_splits(tables[1], 30)
    sizes = [{(len(s.train), len(s.test)) for s in table.splits} for table in tables]
    assert sizes[0] == sizes[1] == sizes[2] == {(277, 31)}
    first = [table.splits[0].test.tolist() for table in tables]
    assert first[0] != first[1] and first[1] != first[2]
    assert (tables[0].inputs == tables[1].inputs).all()
    with pytest.raises(UserError, match="seeded_splits must be a whole number"):
        UCI("yacht", seeded_splits=0)


def test_targets_are_the_right_columns(data: Path) -> None:
    boston = UCI("boston", directory=str(data), base_url=NOWHERE).load()
    assert boston.targets[:3].tolist() == [24.0, 21.6, 34.7]
    assert boston.inputs[0, [0, -1]].tolist() == [0.00632, 4.98]
    naval = UCI("naval", directory=str(data), base_url=NOWHERE).load()
    assert (naval.targets.min(), naval.targets.max()) == (0.95, 1.0)
    assert np.flatnonzero(np.ptp(naval.inputs, axis=0) == 0).tolist() == [8, 11]
    assert naval.features[8] == "column_8"


def test_split_rows_keep_the_published_order(data: Path) -> None:
    split = UCI("boston", directory=str(data), base_url=NOWHERE).load().splits[0]
    assert split.train[:2].tolist() == [307, 343]


def test_wrong_number_of_feature_names(data: Path) -> None:
    with pytest.raises(UserError) as error:
        UCI("yacht", directory=str(data), base_url=NOWHERE, features=("a", "b")).load()
    assert_one_sentence(error, "dataset.features", "6", "not 2")


def test_unknown_set() -> None:
    with pytest.raises(UserError) as error:
        UCI("bosten")
    assert_one_sentence(error, "'bosten'", "boston, concrete")


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty"])
@pytest.mark.parametrize("file", ["data.txt", "index_test_7.txt", "n_splits.txt"])
def test_corrupt_file_is_named_and_refused(yacht: Path, file: str, damage: str) -> None:
    path = yacht / "yacht/data" / file
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[0] ^= 1
    path.write_bytes(
        {"flip": bytes(content), "truncate": bytes(content[:-1]), "empty": b""}[damage]
    )
    with pytest.raises(UserError) as error:
        UCI("yacht", directory=str(yacht), base_url=NOWHERE).load()
    assert_one_sentence(error, str(path), "corrupt", f"bnnbench data fetch yacht --dir {yacht}")


# --- the registry, fetching and verifying


def test_registry_lists_every_file_of_every_set() -> None:
    for name in SHAPES:
        n_splits = 5 if name == "protein" else 20
        names = {Path(file).name for file in archive.checksums(name)}
        assert len(names) == 4 + 2 * n_splits
        assert {"data.txt", f"index_test_{n_splits - 1}.txt"} <= names
    assert sum(len(archive.checksums(name)) for name in SHAPES) == len(archive.registry())


def test_first_use_downloads_and_verifies(served: str, yacht: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    table = UCI("yacht", directory=str(fresh), base_url=served).load()
    assert table.inputs.shape == SHAPES["yacht"]
    copies = sorted(path.relative_to(fresh) for path in fresh.rglob("*") if path.is_file())
    assert [str(path) for path in copies] == sorted(archive.checksums("yacht"))
    for path in copies:
        assert (fresh / path).read_bytes() == (yacht / path).read_bytes()
        assert (fresh / path).stat().st_mode & 0o777 == 0o644


def test_only_absent_files_are_downloaded(served: str, yacht: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    shutil.copytree(yacht, fresh)
    (fresh / "yacht/data/n_splits.txt").unlink()
    kept = (fresh / "yacht/data/data.txt").stat().st_mtime_ns
    UCI("yacht", directory=str(fresh), base_url=served).load()
    assert (fresh / "yacht/data/data.txt").stat().st_mtime_ns == kept


def test_fetch_replaces_a_corrupt_file(served: str, yacht: Path, tmp_path: Path) -> None:
    fresh = tmp_path / "fresh"
    shutil.copytree(yacht, fresh)
    (fresh / "yacht/data/data.txt").write_text("1 2 3\n")
    archive.fetch(["yacht"], fresh, base_url=served)
    assert archive.verify(["yacht"], fresh)[0].ok


def test_wrong_download_is_never_kept(served: str, yacht: Path, tmp_path: Path) -> None:
    (yacht / "yacht/data/data.txt").write_text("1 2 3\n")
    fresh = tmp_path / "fresh"
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], fresh, base_url=served)
    assert_one_sentence(error, f"{served}yacht/data/data.txt", "SHA-256 is wrong")
    assert not [path for path in fresh.rglob("*") if path.is_file()]


def test_missing_on_the_server(served: str, yacht: Path, tmp_path: Path) -> None:
    (yacht / "yacht/data/data.txt").unlink()
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], tmp_path / "fresh", base_url=served)
    assert_one_sentence(error, "HTTP status 404")


def test_no_network_is_one_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UserError) as error:
        UCI("yacht", directory=str(tmp_path / "uci"), base_url=NOWHERE).load()
    assert_one_sentence(
        error,
        f"{NOWHERE}yacht/data/data.txt",
        "no connection",
        "bnnbench data fetch yacht --from DIR",
        "BNNBENCH_DATA",
    )
    assert len(capfd.readouterr().err.splitlines()) == 1  # what is being downloaded, no log lines


def test_unwritable_folder(data: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    for attempt in (
        lambda: UCI("yacht", directory=str(blocked), base_url=NOWHERE).load(),
        lambda: archive.fetch(["yacht"], blocked, source=data),
    ):
        with pytest.raises(UserError) as error:
            attempt()
        assert_one_sentence(error, f"Cannot write data files to {blocked}", "data_dir=DIR")


def run_command(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["data", *arguments])
    return int(args.run(args))


def test_fetch_from_a_folder_and_verify(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "uci")
    assert run_command("verify", "boston", "yacht", "--dir", folder) == 1
    assert "yacht: absent: 44 of 44 files" in capsys.readouterr().out
    assert run_command("fetch", "boston", "yacht", "--from", str(data), "--dir", folder) == 0
    capsys.readouterr()
    assert run_command("verify", "boston", "yacht", "--dir", folder) == 0
    assert capsys.readouterr().out.splitlines() == [
        "boston: intact: 44 files.",
        "yacht: intact: 44 files.",
    ]
    assert run_command("verify", "--dir", folder) == 1  # no name: all nine
    assert len(capsys.readouterr().out.splitlines()) == len(SHAPES)
    (tmp_path / "uci/yacht/data/data.txt").write_text("1 2 3\n")
    assert run_command("verify", "boston", "yacht", "--dir", folder) == 1
    assert "yacht: corrupt: yacht/data/data.txt." in capsys.readouterr().out


def test_commands_default_to_the_environment(
    yacht: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BNNBENCH_DATA", str(yacht))
    assert run_command("verify", "yacht") == 0
    monkeypatch.delenv("BNNBENCH_DATA")
    assert run_command("verify", "yacht") == 1
    yacht.rename(tmp_path / "data")
    assert run_command("verify", "yacht") == 0


def test_commands_refuse_unknown_names(tmp_path: Path) -> None:
    for command in ("fetch", "verify"):
        with pytest.raises(UserError) as error:
            run_command(command, "yacht", "bosten", "--dir", str(tmp_path))
        assert_one_sentence(error, "'bosten'", "yacht")


def test_fetch_from_a_corrupt_folder_writes_nothing(yacht: Path, tmp_path: Path) -> None:
    bad = yacht / "yacht/data/n_splits.txt"
    bad.write_text("2\n")
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], tmp_path / "fresh", source=yacht)
    assert_one_sentence(error, "--from", str(bad), "corrupt")
    bad.unlink()
    with pytest.raises(UserError) as error:
        archive.fetch(["yacht"], tmp_path / "fresh", source=yacht)
    assert_one_sentence(error, str(bad), "absent")
    assert not (tmp_path / "fresh").exists()


# --- seeded splits and the embedded set


def test_seeded_splits_follow_their_rule() -> None:
    splits = seeded_splits(506, 20, 0.1, seed=3)
    assert [(len(s.train), len(s.test)) for s in splits] == [(455, 51)] * 20  # as published
    for split, again in zip(splits, seeded_splits(506, 5, 0.1, seed=3), strict=False):
        assert np.array_equal(split.train, again.train) and np.array_equal(split.test, again.test)
    tests = {tuple(sorted(s.test)) for seed in (3, 4) for s in seeded_splits(506, 20, 0.1, seed)}
    assert len(tests) == 40


def test_seeded_splits_never_change() -> None:
    # Literal rows: a change of generator would silently change every published number.
    assert seeded_splits(10, 2, 0.2, seed=0)[1].test.tolist() == [6, 7]


def test_seeded_splits_leave_rows_to_train_on() -> None:
    assert len(seeded_splits(10, 1, 0.5, seed=0)[0].train) == 5
    assert len(seeded_splits(10, 1, 0.01, seed=0)[0].test) == 1
    with pytest.raises(UserError) as error:
        seeded_splits(10, 1, 0.6, seed=0)
    assert_one_sentence(error, "dataset.test_fraction", "leaves 4")


def test_diabetes() -> None:
    source, _ = configured("diabetes")
    table = source.load()
    assert table.inputs.shape == (442, 10) and len(table.features) == 10
    assert table.targets[:3].tolist() == [151.0, 75.0, 141.0]
    assert table.inputs[0, :3].tolist() == [59.0, 2.0, 32.1]  # original units, not scaled
    check_splits(table, 20)
    assert {len(split.test) for split in table.splits} == {44}
    other = Diabetes(split_seed=1).load()
    assert not np.array_equal(table.splits[0].test, other.splits[0].test)


@pytest.mark.parametrize(
    ("key", "value"),
    [("n_splits", 0), ("test_fraction", 1.0), ("split_seed", -1), ("split_seed", 2**32)],
)
def test_split_settings_are_checked(key: str, value: float) -> None:
    settings: dict[str, Any] = {key: value}
    with pytest.raises(UserError, match=rf"^dataset\.{key} must be"):
        Diabetes(**settings)
    with pytest.raises(UserError, match=rf"^dataset\.{key} must be"):
        CSV(path="x.csv", target="y", **settings)


# --- the user's own table

ROWS = [f"{i},{i % 3},{i / 2 + 1}" for i in range(12)]


def write(folder: Path, rows: list[str], header: str = "a,b,price", name: str = "mine") -> str:
    path = folder / f"{name}.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return str(path)


def test_csv_loads(tmp_path: Path) -> None:
    source, _ = configured("csv", path=write(tmp_path, ROWS, name="my own (2)"), target="b")
    table = source.load()
    assert table.name == "my-own-2"
    assert (table.features, table.target) == (("a", "price"), "b")
    assert table.inputs[3].tolist() == [3.0, 2.5]
    assert table.targets[:4].tolist() == [0.0, 1.0, 2.0, 0.0]
    assert table.inputs.dtype == table.targets.dtype == np.float64
    check_splits(table, 20)
    assert {len(split.test) for split in table.splits} == {1}
    assert CSV(name="houses", path=source.path, target="b").load().name == "houses"


def test_csv_takes_blanks_booleans_constants_and_a_byte_order_mark(tmp_path: Path) -> None:
    rows = [f"{i}, {'true' if i % 2 else 'false'}, 7" for i in range(10)]
    path = write(tmp_path, rows, header="\ufeffa , flag, same")
    table = CSV(path=path, target="a").load()
    assert table.features == ("flag", "same")
    assert table.inputs[:2].tolist() == [[0.0, 7.0], [1.0, 7.0]]


def changed(row: int, text: str) -> list[str]:
    return [*ROWS[:row], text, *ROWS[row + 1 :]]


@pytest.mark.parametrize(
    ("rows", "header", "parts"),
    [
        (changed(4, "4,red,1"), "a,b,price", ["dataset.path", "'b'", "'red'", "data row 5"]),
        (changed(4, "4,1,?"), "a,b,price", ["dataset.path", "'price'", "'?'", "data row 5"]),
        (changed(4, "4,true,1"), "a,b,price", ["dataset.path", "'b'", "'true'", "data row 5"]),
        (changed(2, "2,,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,  ,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,NaN,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,-inf,1"), "a,b,price", ["dataset.path", "'b'", "1 of 12", "data row 3"]),
        (changed(2, "2,1"), "a,b,price", ["dataset.path", "'price'", "1 of 12", "data row 3"]),
        (changed(2, "2,1,1,9"), "a,b,price", ["dataset.path", "not a valid CSV"]),
        ([f"{row},9" for row in ROWS], "a,b,price", ["dataset.path", "saw 4"]),
        (ROWS[:3], "a,b,price", ["dataset.path", "too few rows", "holds 3", "10"]),
        (ROWS[:9], "a,b,price", ["dataset.path", "too few rows", "holds 9"]),
        ([], "a,b,price", ["dataset.path", "too few rows", "holds 0"]),
        (ROWS, "a,a,price", ["dataset.path", "more than one column 'a'"]),
        (ROWS, ",b,price", ["dataset.path", "column 1", "no name"]),
        (ROWS, "a,b,Price", ["dataset.target", "'price'", "a, b, Price", "'Price' is the closest"]),
        (ROWS, "a,b,zzz", ["dataset.target", "'price'", "a, b, zzz"]),
        ([f"{i},{i},5" for i in range(12)], "a,b,price", ["dataset.target", "'price'", "is 5"]),
        ([str(i) for i in range(12)], "price", ["dataset.path", "no column besides"]),
    ],
)
def test_csv_refuses(tmp_path: Path, rows: list[str], header: str, parts: list[str]) -> None:
    path = write(tmp_path, rows, header)
    with pytest.raises(UserError) as error:
        CSV(path=path, target="price").load()
    assert_one_sentence(error, path, *parts)


def test_csv_refuses_what_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_bytes(b"")
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    for name, part in [
        ("none.csv", "no file"),
        ("empty.csv", "empty"),
        ("binary.csv", "not a valid CSV"),
        (".", "cannot read"),
    ]:
        with pytest.raises(UserError) as error:
            CSV(path=str(tmp_path / name), target="y").load()
        assert_one_sentence(error, "dataset.path", str(tmp_path / name), part)


def test_csv_needs_path_and_target() -> None:
    with pytest.raises(UserError) as error:
        CSV(target="y")
    assert_one_sentence(error, "dataset.path")
    with pytest.raises(UserError) as error:
        CSV(path="x.csv")
    assert_one_sentence(error, "dataset.target")


# --- the configuration files


@pytest.mark.parametrize("name", [*SHAPES, "diabetes"])
def test_configured_protocol(name: str) -> None:
    source, protocol = configured(name)
    assert source.name == name
    large = name in {"wine", "power", "naval", "kin8nm", "protein"}
    assert (protocol["size"], protocol["batch_size"]) == (
        ("large", 128) if large else ("small", 32)
    )
    assert protocol["width"] == (100 if name == "protein" else 50)
    narrow = name in {"naval", "power"}
    logs = {key: np.log(bounds).tolist() for key, bounds in protocol["bounds"].items()}
    assert logs == {
        "noise_precision": [1.0, 5.0] if narrow else [0.0, 5.0],
        "prior_precision": [-3.0, 4.0] if narrow else [-4.0, 4.0],
    }


@pytest.mark.parametrize("name", [*SHAPES, "diabetes", "csv"])
def test_configuration_opens_with_its_summary(name: str) -> None:
    first, *rest = (CONFIGS / "dataset" / f"{name}.yaml").read_text().splitlines()
    assert f"summary: {first.removeprefix('# ')}" in rest


def test_the_data_layer_is_light_to_import() -> None:
    code = (
        "import sys, bnnbench.cli.data, bnnbench.data.uci, bnnbench.data.embedded, "
        "bnnbench.data.csv_table; "
        "print({'torch', 'hydra', 'omegaconf', 'pandas', 'sklearn', 'pooch'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
