"""A mistake on the command line is one sentence and exit code 2, and writes nothing."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import torch
from support.command import Command
from support.config import TINY

MISTAKES: dict[str, tuple[str | None, str | None]] = {
    "run run": ("run", "syntax"),
    "run ''": (None, "no_key"),
    "run --nothing": ("--nothing", None),
    "run --config-dir": ("--config-dir", None),
    "run --config-dir /etc/passwd": ("--config-dir", None),
    "run --dry-run nonsense=1": ("nonsense", "unknown_setting"),
    "run training.epoch=3": ("training.epoch", "unknown_setting"),
    "run -m seed=0,1 outputs_dir=null": ("outputs_dir", None),
    "run --cgf job": ("--cgf", None),
    "run -m --cfg job": ("--cfg", None),
    "run seed=1,2 --cfg=job -m": ("--cfg", None),
    "run --resolve": ("--resolve", None),
    "run --cfg job --package nowhere": ("--package", None),
    "run --config-dir nowhere": ("--config-dir", None),
    **{f"run {option}": (option, None) for option in ("--info", "--hydra-help", "--config-name=x")},
    "run --experimental-rerun job.pickle": ("--experimental-rerun", None),
    "run --cfg hydra": ("--cfg", None),
    "run hydra.mode=RUN": ("hydra.mode", "hydra_setting"),
    "run -m hydra/launcher=joblib": ("hydra/launcher", "hydra_setting"),
    "run -m +hydra.sweeper.params.seed=1,2": ("hydra.sweeper.params.seed", "hydra_setting"),
    "run ++hydra.callbacks.mine._target_=m.C": ("hydra.callbacks.mine._target_", "hydra_setting"),
    "run ~hydra/sweeper": ("hydra/sweeper", "hydra_setting"),
    "run +method@hydra.launcher=bbb": ("method@hydra.launcher", "hydra_setting"),
    "run --cfg job hydra=null": ("hydra", "hydra_setting"),
    "run --help hydra.verbose=true": ("hydra.verbose", "hydra_setting"),
    **{
        f"run experiment=linear_regression {key}={value}": (key, "no_effect")
        for key, value in (("evaluation.samples", 5), ("search.folds", 3))
    },
    "run experiment=linear_regression search=bayesian_optimisation": ("search", "no_effect"),
    "run dataset=csv dataset.path=nowhere.csv dataset.target=y protocol=auto": (
        "dataset.path",
        "file_not_found",
    ),
    "report nowhere": ("path", "no_folder"),
    "report ''": ("path", "no_run"),
    "report /etc/passwd": ("path", "no_folder"),
    "report /dev/null": ("path", "no_folder"),
    "report a b": ("path", "no_folder"),
    "report --refresh nowhere": ("path", "no_folder"),
    "report --output-dir": ("--output-dir", None),
    "compare": ("path", "no_folder"),
    "compare /dev/null": ("path", "no_folder"),
    "compare . . .": ("PATH", None),
    "compare --metric mse .": ("--metric", "unknown_name"),
    "compare --published --with reference .": ("--published", None),
    "compare --published . .": ("PATH", None),
    "compare --rope -1 .": ("--rope", None),
    "compare --rope x": ("--rope", None),
    "compare --rope nan": ("--rope", None),
    "compare --rope inf": ("--rope", None),
    "show": ("RUN", None),
    "show --open ''": ("RUN", "no_run"),
    "show nowhere": ("RUN", "not_a_folder"),
    "show /dev/null": ("RUN", "not_a_folder"),
    "predict": ("RUN", None),
    "predict nowhere": ("FILE", None),
    "predict /dev/null new.csv": ("RUN", "not_a_folder"),
    "predict . /etc/passwd": ("RUN", "no_run"),
    "predict . new.csv extra.csv": ("extra.csv", None),
    "predict . new.csv -o": ("--output", None),
    "predict . new.csv --interval nan": ("--interval", None),
    "predict . new.csv --interval 90%": ("--interval", None),
    "recommend /dev/null --target y": ("dataset.path", "not_a_regular_file"),
    "recommend . --target ''": ("dataset.path", "unreadable"),
    "recommend t.csv --target y --methods ''": ("--methods", "too_few"),
    "recommend t.csv --target y --minutes nan": ("--minutes", None),
    "check": ("KEY=VALUE", None),
    "check method=nothing": ("method", "unknown_option"),
    "trust /etc/passwd": ("FOLDER", "no_file"),
    "reproduce ''": ("NAME", "unknown_suite"),
    "reference --folder nowhere": ("folder", "no_reference"),
    "reference add nowhere": ("path", "no_folder"),
    "list methots": ("list", None),
    "list ''": ("list", None),
    "list ../..": ("list", None),
    "''": ("COMMAND", None),
    "RUN": ("COMMAND", None),
    "frobnicate": ("COMMAND", None),
    "method=bbb": ("COMMAND", None),
    "report --error-bars sd": ("--error-bars", None),
    "report --foo": ("--foo", None),
}
"""Command lines, the setting that the error is about, and its code."""


def own_table(path: Path) -> list[str]:
    return ["dataset=csv", "dataset.target=y", f"dataset.path={path}"]


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_sentence_and_writes_nothing(command: Command, line: str) -> None:
    setting, code = MISTAKES[line]
    command.assert_refused(*shlex.split(line), setting=setting, code=code)
    assert list(Path().iterdir()) == []


def test_a_sweep_prints_a_few_errors_and_counts_the_others(command: Command) -> None:
    command.assert_refused("run", "-m", "seed=-1,-2,-3,-4,-5", setting="seed")
    errors = str(command.error)
    assert all(f"not {seed}." in errors for seed in (-1, -2, -3)) and "2 more" in errors
    assert "-4" not in errors


@pytest.mark.parametrize("word", ["run", "report", "compare", "list"])
def test_a_folder_that_was_deleted(command: Command, word: str) -> None:
    Path.cwd().rmdir()
    command.assert_refused(word, code="deleted")


@pytest.mark.usefixtures("without_figures")
def test_a_run_that_diverged_everywhere_fails_after_its_table(
    command: Command, table_csv: Path
) -> None:
    words = [*own_table(table_csv), *TINY, "workers=1", "training.learning_rate=1e300"]
    code, out, errors = command("run", *words)
    assert code == 1 and "results: " in out
    assert "the run diverged" in errors.strip().splitlines()[-1]


def test_an_unwritable_output_folder(command: Command, table_csv: Path) -> None:
    blocked = Path("file")
    blocked.write_text("in the way")
    words = [*own_table(table_csv), *TINY, f"outputs_dir={blocked / 'out'}"]
    command.assert_refused("run", *words, setting="outputs_dir")


def test_cuda_asked_for_and_absent(command: Command) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    command.assert_refused("run", "device=cuda", setting="device")
