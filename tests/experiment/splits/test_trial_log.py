"""The log of a search."""

from __future__ import annotations

from pathlib import Path

from bnnbench.experiment.splits.split_search import TrialLog
from bnnbench.search.base import Trial


def test_the_log_survives_damage(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    trials = [
        Trial({"a": 0.1 + i}, -1.0 / (i + 3), (float("nan"), 0.2), 1.5, 0.5) for i in range(3)
    ]
    log = TrialLog(path, trials[:2])
    assert str(TrialLog.read(path)) == str(trials[:2])
    log.add(trials[2])
    assert log.trials == trials
    whole = path.read_text()
    assert TrialLog.count(path) == 3
    assert str(TrialLog.read(path)) == str(trials), "floats and NaN are read bit for bit"
    path.write_text(whole[:-20])
    assert str(TrialLog.read(path)) == str(trials[:2])
    path.write_text(whole.replace("0.2", "0.3", 1))
    assert TrialLog.read(path) == [], "a changed number is detected"
    path.write_bytes(whole.encode().replace(b"objective", b"obj\xffctive", 1))
    assert TrialLog.read(path) == []
    assert TrialLog.read(tmp_path / "absent") == [] and TrialLog.count(tmp_path / "absent") == 0


def test_two_processes_with_one_log_do_not_mix(tmp_path: Path) -> None:
    """Without locks, each one writes its whole search, so that no line is repeated."""
    path = tmp_path / "trials.jsonl"
    trials = [Trial({"a": float(k)}, -1.0, (0.5,), 1.0, 0.5) for k in range(3)]
    first, second = TrialLog(path), TrialLog(path)
    for trial in trials:
        first.add(trial)
        second.add(trial)
        assert TrialLog.read(path) == second.trials
    assert TrialLog.read(path) == trials and not list(tmp_path.glob(".*"))
