"""A command line and the jobs that it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra._internal.config_repository import ConfigRepository
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult

from bnnbench.cli.compose import initialised
from bnnbench.cli.line import configs_of, line_of


def test_a_line_is_a_sweep_if_it_says_so_or_its_experiment() -> None:
    with initialised():
        single, said = line_of(["seed=3"], False), line_of(["seed=3"], True)
        brought = line_of(["experiment=book_uci", "dataset=boston"], False)
        with pytest.raises(HydraException, match="Ambiguous value for argument 'seed=1,2'"):
            line_of(["seed=1,2"], False)
    assert single is not None and said is not None and brought is not None
    assert not single.several and len(single.jobs) == 1
    assert said.several and len(said.jobs) == 1
    assert brought.several and len(brought.jobs) == 6
    assert "dataset=boston" in brought.jobs[0].task


def test_jobs_are_composed_as_they_are_elsewhere() -> None:
    words = ["method=vadam,map", "seed=1,2"]
    with initialised():
        line = line_of(words, True)
        assert line is not None
        found = [job.resolved() for job in line.jobs]
    assert found == configs_of(words) and "hydra" not in found[0]
    assert [config["seed"] for config in found] == [1, 2, 1, 2]


@pytest.mark.parametrize("word", ["hydra/launcher=joblib", "+hydra.callbacks.mine._target_=m.C"])
def test_jobs_that_hydra_is_to_run_are_left_to_it(word: str) -> None:
    with initialised():
        assert line_of([word], True) is None


def test_a_configuration_may_refer_to_what_hydra_knows(tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    text = "defaults: [map]\nlabel: by_${hydra:runtime.choices.divergence}\n"
    (tmp_path / "method" / "mine.yaml").write_text(text)
    (config,) = configs_of(["method=mine"], own=str(tmp_path))
    assert config["method"]["label"] == "by_kl"


def test_no_file_is_read_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    load = ConfigRepository.load_config

    def counted(self: ConfigRepository, config_path: str) -> ConfigResult | None:
        read.append(config_path)
        return load(self, config_path)

    monkeypatch.setattr(ConfigRepository, "load_config", counted)
    first, second = configs_of(["method=map,vadam"])
    assert "run" in read and "method/map" in read and len({*read}) == len(read)
    # What was changed in one job is not in the next.
    assert first["method"]["label"] == "map" and second["method"]["label"] == "vadam"
