"""`bnnbench data`: fetching and verifying from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tables import SHAPES
from support.user_errors import raises_user_error

from bnnbench.cli.main import build_parser


def run_command(*arguments: str) -> int:
    args = build_parser().parse_args(["data", *arguments])
    return int(args.run(args))


def test_fetch_from_a_folder_and_verify(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "uci")
    assert run_command("verify", "boston", "yacht", "--dir", folder) == 1
    assert "yacht: missing: 44 of 44 files" in capsys.readouterr().out
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
        with raises_user_error("dataset.name") as error:
            run_command(command, "yacht", "bosten", "--dir", str(tmp_path))
        assert "'bosten'" in str(error.value)
