"""A command line and the jobs that it stands for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra._internal.config_repository import ConfigRepository
from hydra.errors import HydraException
from hydra.plugins.config_source import ConfigResult

from bnnbench.cli.compose import CONFIG_NAME, initialised, plain
from bnnbench.cli.configs import config_folder
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


def test_jobs_are_composed_as_hydra_does() -> None:
    words = ["method=vadam,map", "seed=1,2"]
    with initialised():
        line = line_of(words, True)
        assert line is not None
        found = [job.resolved() for job in line.jobs]
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        jobs = [[f"method={m}", f"seed={s}"] for m in ("vadam", "map") for s in (1, 2)]
        assert found == [plain(compose(CONFIG_NAME, job)) for job in jobs]
    assert found == configs_of(words)


def own_experiment(folder: Path, text: str) -> list[str]:
    (folder / "experiment").mkdir()
    head = "# @package _global_\n# My sweep.\ndefaults: [uci]\n"
    (folder / "experiment" / "mine.yaml").write_text(head + text)
    return ["experiment=mine"]


def test_what_an_experiment_would_sweep_over_is_nothing_to_a_single_run(tmp_path: Path) -> None:
    words = own_experiment(tmp_path, "hydra: {sweeper: {params: {seed: '1,2'}}}\n")
    with initialised(str(tmp_path)):
        single, sweep = line_of(words, False), line_of(words, True)
    assert single is not None and [job.resolved()["seed"] for job in single.jobs] == [0]
    assert sweep is not None and [job.resolved()["seed"] for job in sweep.jobs] == [1, 2]


@pytest.mark.parametrize(
    "text", ["run: {dir: elsewhere}", "job: {chdir: true}", "output_subdir: kept",
             "job: {env_set: {A: b}}"],
)  # fmt: skip
def test_what_a_file_asks_of_hydra_is_left_to_it(tmp_path: Path, text: str) -> None:
    words = own_experiment(tmp_path, f"hydra: {{{text}}}\n")
    with initialised(str(tmp_path)):
        assert line_of(words, False) is None


def test_a_file_of_ones_own_is_found_after_ours(tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "vadam.yaml").write_text("label: mine\n")
    (config,) = configs_of(["method=vadam"], own=str(tmp_path))
    assert config["method"]["label"] == "vadam"


@pytest.mark.parametrize("word", ["hydra/launcher=joblib", "+hydra.callbacks.mine._target_=m.C"])
def test_jobs_that_hydra_is_to_run_are_left_to_it(word: str) -> None:
    with initialised():
        assert line_of([word], True) is None


def test_a_configuration_may_refer_to_what_hydra_knows(tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    text = "defaults: [map]\nlabel: by_${hydra:runtime.choices.divergence}_${hydra:job.num}\n"
    (tmp_path / "method" / "mine.yaml").write_text(text)
    (config,) = configs_of(["method=mine"], own=str(tmp_path))
    assert config["method"]["label"] == "by_kl_0"


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
