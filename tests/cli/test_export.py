"""`bnnbench export`, with the libraries that are installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.command import Command
from support.runs import make_run


@pytest.mark.slow
def test_mlflow_reads_the_run(command: Command, tmp_path: Path) -> None:
    client = pytest.importorskip("mlflow.tracking").MlflowClient
    folder = make_run(tmp_path / "outputs")
    code, out, _ = command(
        "export", "mlflow", str(folder.root), "--output-dir", str(tmp_path / "m")
    )
    assert code == 0 and out.startswith("mlflow: run ")
    found = client(tracking_uri=(tmp_path / "m").as_uri())
    run = found.get_run(out.split()[2])
    history = found.get_metric_history(run.info.run_id, "rmse")
    assert [one.step for one in history] == list(range(len(history))) and len(history) > 1
    mean = sum(one.value for one in history) / len(history)
    assert run.data.metrics["rmse_mean"] == pytest.approx(mean)
    assert run.info.status == "FINISHED" and run.data.params


@pytest.mark.slow
def test_wandb_writes_an_offline_run(command: Command, tmp_path: Path) -> None:
    pytest.importorskip("wandb")
    folder = make_run(tmp_path / "outputs")
    code, out, _ = command(
        "export", "wandb-offline", str(folder.root), "--output-dir", str(tmp_path)
    )
    assert code == 0
    (written,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    assert written.stat().st_size > 0 and str(written.parent.parent) in out


@pytest.mark.parametrize("format", ["mlflow", "wandb-offline"])
def test_a_missing_library_is_named(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    folder = make_run(tmp_path / "outputs")
    for name in ("mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "mlflow.tracking", raising=False)
    command.assert_refused(
        "export", format, str(folder.root), setting="FORMAT", code="not_installed"
    )
