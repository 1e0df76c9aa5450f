"""Every mistake in the settings of a run is a `UserError` about its setting, with its code.

tests/cli/test_mistakes.py checks what the command line makes of such errors.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.config import compose_configs
from support.refusals import assert_line_refused, assert_refused
from support.user_errors import raises_user_error

from bnnbench.discovery import make_importable
from bnnbench.near_names import closest_match

LINES: dict[tuple[str | None, str | None], str] = {
    ("method", "unknown_option"):
        "method=vadm | method=PBP | method=ours | method=3 | method= | method=[vadm] "
        "| -m method=bbb,vadamm | method=.. | method={a:1}",
    ("depth", "unknown_option"): "depth=-1 | depth=null",
    ("likelihood", "unknown_option"): "likelihood=/etc/passwd | likelihood=../x",
    ("dataset", "unknown_option"): "dataset=null | dataset=_base",
    ("experiment", "unknown_option"): "experiment=_gvi",
    ("dataset", "file"): "dataset=my.csv",
    ("training.epoch", "unknown_setting"): "training.epoch=3",
    ("dataset.splits", "unknown_setting"): "dataset.splits=2",
    ("method.init_from", "unknown_setting"): "method=vadam method.init_from=map",
    ("dataset.n_splits", "unknown_setting"): "dataset=boston dataset.n_splits=2",
    ("sede", "unknown_setting"): "sede=3",
    ("method.momentum", "unknown_setting"): "+method.momentum=3",
    ("training.speed", "unknown_setting"): "+training.speed=3",
    ("network.skip", "unknown_setting"): "+network.skip=3",
    ("loss.speed", "unknown_setting"): "loss=beta +loss.speed=3",
    ("seed", "syntax"):
        "seed=[1 | seed=1\n2 | seed | seed==1 | seed='1 | seed=${seed | seed=\x1b[31m1 "
        "| seed=\u202e1 | seed=\uff11 | -m seed=1, | -m seed=,1 | -m seed=choice()",
    ("splits", "syntax"): "splits=0]",
    ("training", "syntax"): "training={epochs:1",
    ("...", "syntax"): "...=1",
    ("training.", "syntax"): "training.=1",
    ("choice(1,2)", "syntax"): "choice(1,2)",
    ("training.epochs.epochs", "unknown_setting"): "training.epochs.epochs=1",
    (None, "no_key"): "=1 | =",
    (None, "hydra"):
        "seed=${nowhere:1} | seed=${oc.env:NO_SUCH_VARIABLE} "
        "| method=../dataset/csv",
    ("seed", "not_utf8"): "seed=\udcff",
    ("outputs_dir", "null_byte"): "outputs_dir=~\0 | outputs_dir='a\0b'",
    **{(key, "removed"): f"~{key}" for key in ("seed", "method", "dataset", "search", "nothing")},
    ("foo", "no_effect"): "+foo=1 | ++foo=1",
    ("dataset", "added"): "+dataset=boston",
    ("method", "needs_multirun"): "method=[vadam,bbb] | method=vadam,bbb",
    ("depth", "needs_multirun"): "depth=1,2,3",
    ("splits", "needs_multirun"): "splits=0,3",
    ("seed", "needs_multirun"): "seed=range(3)",
    ("seed", "range"): "-m seed=range(0,inf) | -m seed=range(3,0) | -m seed=range(3,3)",
    ("depth", "range"): "-m depth=range(0,3)",
    ("seed", "interval"): "-m seed=interval(0,1)",
    ("seed", "circular"): "seed=${seed}",
    ("seed", "too_many_jobs"):
        "-m seed=range(0,10000) splits=range(1,10000) | -m seed=range(0,9999) method=map,pbp "
        "| -m seed=shuffle(range(0,10000)) splits=1,2",
    ("method.dropout", "unknown_setting"): "-m method=mc_dropout,vadam method.dropout=0.02",
    ("method@_global_", "package"): "+method@_global_=vadam | method@_global_=vadam",
    ("prior@x", "package"): "-m +prior@x=laplace",
    ("method", "glob"): "-m method=glob(zz*)",
    ("hydra.launcher.n_jobs", "hydra_setting"): "-m hydra.launcher.n_jobs=2",
    ("outputs_dir", "bracket"): "outputs_dir=[a]",
    ("training", "not_a_group"): "training=null",
    ("data_dir", None): "data_dir=",
    ("method.label", None): "-m method.label=../a,../b | method.label=",
    ("training.learning_rate", "unresolved"): "training.learning_rate=${nowhere}",
    ("dataset.path", "file_not_found"): "dataset=csv dataset.path=no.csv dataset.target=y",
    ("training.samples", "unresolved"): "dataset.protocol.sample_budget=medium",
    ("method._target_", "unknown_class"):
        "method._target_=bnnbench.methods.vadam | method.label=mine method._target_=os.system "
        "| method.label=mine method._target_=os | method.label=mine method._target_=Vadam",
    ("method._target_", "wrong_type"): "method._target_=bnnbench.losses.NLL",
    ("divergence._target_", "unknown_class"):
        "method=bbb divergence.label=mine divergence._target_=builtins.dict",
    **{(group, "unknown_option"): f"{group}=null" for group in ("prior", "engine")},
    **{
        (f"{group}._target_", "not_a_name"): " | ".join(
            f"method=bbb {group}._target_={value}"
            for value in ("null", "3", "1.5", "true", "[a]", "{a:1}", "[]", "inf", "${seed}")
        )
        for group in ("method", "dataset", "divergence", "prior", "likelihood", "loss", "search",
                      "experiment", "engine")
    },
    ("dataset._target_", "unknown_class"):
        "dataset._target_=builtins | dataset._target_=os.path | dataset._target_=''",
}  # fmt: skip
"""Lines that are refused, by the setting and the code of the error."""

SETTINGS: dict[tuple[str | None, str | None], str] = {
    ("outputs_dir", None): "outputs_dir=null | outputs_dir=",
    ("outputs_dir", "path"): f"outputs_dir=a/{'x' * 300} | outputs_dir=~no_such_user/x",
    ("data_dir", "path"): "experiment=semi_supervised images=mnist data_dir=~no_such_user",
    ("dataset.path", "path"):
        "dataset=csv dataset.path=~no_such_user/t.csv dataset.target=y",
    ("network", "not_a_group"): "network=null",
    ("dataset.path", None): "dataset=csv",
    ("likelihood", "not_accepted"):
        "method=pbp likelihood=heteroscedastic | method=pbp loss=gamma",
    ("prior", "not_accepted"): "method=map prior=laplace",
    ("splits", "count_out_of_range"): "splits=99 | splits=-1",
    ("training.betas", "not_a_list"): "training.betas=[0.9] | training.betas=0.9",
    ("dataset.n_splits", "too_large"): "dataset=diabetes dataset.n_splits=1000000",
    ("search", None): "search=none | protocol=trial search=none",
    ("dataset.protocol.bounds", "not_a_group"): "dataset.protocol.bounds=text",
    **{
        (f"{group}.protocol.{key}", "unknown"): f"+{group}.protocol.{key}=200"
        for group, keys in {
            "method": ("search", "iterations", "widths", "folds", "fixed", "epoch"),
            "dataset": ("search", "learning_rate"),
            "loss": ("epochs",),
        }.items()
        for key in keys
    },
    ("method.protocol.search", "unknown"): "+method.protocol.search={iterations:200}",
    ("method.protocol.samples.medium", "unknown"): "+method.protocol.samples.medium=3",
    ("method.protocol.samples", "not_a_group"): "method.protocol.samples=3",
    ("method.protocol.bounds.drop", "unknown"):
        "method=mc_dropout +method.protocol.bounds.drop=[0.1,0.2]",
    ("method.protocol.bounds_original_units", "not_a_group"):
        "+method.protocol.bounds_original_units=text",
    **{
        (f"method.protocol.bounds_original_units.{name}", "unknown"):
            f"method={method} +method.protocol.bounds_original_units.{name}=[0.1,0.2]"
        for method, name in (
            ("mc_dropout", "dropout"), ("vadam", "noise_std"), ("tagi", "prior_precision")
        )
    },
    ("dataset.protocol.bounds_original_units", "unknown"):
        "+dataset.protocol.bounds_original_units.noise_precision=[1,2]",
    ("method.protocol.bounds.noise_precision", "two_units"):
        "+method.protocol.bounds.noise_precision=[1,2] "
        "+method.protocol.bounds_original_units.noise_precision=[1,2]",
    ("method.noise_precision", "no_bounds"):
        "+method.protocol.bounds_original_units.noise_precision=[1] "
        "| +method.protocol.bounds_original_units.noise_precision=3",
    ("bounds_original_units.noise_precision", None): " | ".join(
        f"+method.protocol.bounds_original_units.noise_precision={ends}"
        for ends in ("[3,2]", "[0,2]", "[1,inf]", "[a,2]")
    ),
    ("divergence.prior", "wrong_type"): "method=bbb divergence.prior=text",
    ("search._target_", "not_a_dataclass"):
        "search._target_=bnnbench.search.gaussian_process.MaternProcess",
    ("experiment._target_", "wrong_type"): "experiment._target_=bnnbench.settings.Network",
    ("bounds.noise_precision", None): " | ".join(
        f"dataset.protocol.bounds.noise_precision={ends}"
        for ends in ("[3,2]", "[2,2]", "[0,2]", "[1,inf]", "[nan,2]", "[a,2]")
    ),
}  # fmt: skip
"""Settings that are refused when the run is built."""


def cases(table: Mapping[tuple[str | None, str | None], str]) -> list[tuple[str, Any, Any]]:
    """Return each line with the setting and the code of its error."""
    return [(line, *error) for error, lines in table.items() for line in lines.split(" | ")]


SUGGESTIONS = {
    "method=vadm": "did you mean 'vadam'?",
    "method=PBP": "did you mean 'pbp'?",
    "method=ours": "bnnbench.toml",
    "method=[vadm]": "did you mean 'vadam'?",
    "training.epoch=3": "training.epochs",
    "dataset.splits=2": "splits",
    "sede=3": "seed",
    "method=vadam,bbb": "-m",
    "splits=0,3": "splits=[0,3]",
    "dataset=my.csv": "dataset=csv dataset.path=my.csv",
    "outputs_dir=[a]": "outputs_dir=./[a]",
}
"""What the error suggests."""

VALUES = f"""
training.epochs=many training.epochs=1.5 training.epochs={"9" * 30} training.samples=0
training.learning_rate=-1 training.betas=[0.9,1.0]
training.dtype=half training.compile=yes network.width=0 evaluation.samples=0
seed=x seed=-1 workers=0 workers=100000 figures=svg search.iterations=0
search.folds=1 search.folds=1000 experiment.label=.x divergence.label= loss.label={"x" * 101}
dataset.name=a/b method.label=../evil method.label=null method.label={"x" * 300}
method.prior_precision=-1 method.noise_precision=high method.initial_precision=0
seed=0x1F seed={"9" * 30} seed=1e400 seed=nan seed=null seed=[] seed={{a:1}} resume=2 figures=[]
training.learning_rate=1e400 training.learning_rate=nan training.learning_rate=null
training.learning_rate=[1,2] training.learning_rate={{a:1}} training.learning_rate=true
training.epochs=inf training.epochs=[] training.epochs={{a:1}} training.epochs=true
network.depth=nonsense experiment.label=../../elsewhere method.label=[] workers={{a:1}}
evaluation.save_objective=maybe network.width=[3,4] training.batch_size=0
"""

VALUES_OF_METHODS = {
    "mc_dropout": "dropout=1",
    "practical_vi": "initial_precision=-1",
    "ivon": "initial_curvature=0",
    "pbp": "batch_size=0",
    "sgld": "step_decay=0.5",
    "sghmc": "friction=1",
    "deep_ensemble": "members=0 adversarial_step=0",
    "laplace": "initial_prior_precision=0",
}
"""Numbers outside their range; tests/methods/test_contract.py tests other types and words."""

WRONG_VALUES = (
    *VALUES.split(),
    *(
        f"method={m} method.{word}"
        for m, words in VALUES_OF_METHODS.items()
        for word in words.split()
    ),
    "dataset=boston dataset.features=5",
    "loss=beta loss.beta=1",
    "loss=gamma loss.gamma=wide",
    "method=laplace method.prior_precision_by=marginal_likelihood method.prior_precision=2",
    "method=laplace depth=2 method.curvature=full",
)
"""The last setting of each line is wrong."""

METHOD = "_target_: broken_module.Mine\nlabel: mine\n"

FILES = {
    ("_target_: x.y\n  label: [\n", ""): (None, "yaml"),
    ("- a\n", ""): ("method", "not_a_group"),
    ("# @package _global_\nseed: 1\n", ""): ("method._target_", "missing"),
    ("# @package _global_\nmethod: ${method}\n", ""): ("method", "circular"),
    ("# @package _global_\nhydra:\n", ""): (None, "not_composed"),
    ("# @package hydra.job\nenv_copy: [NO_SUCH_VARIABLE]\n", ""): (None, "not_composed"),
    ("null: 1\n", ""): (None, "yaml_key"),
    ("defaults: [none]\n", ""): (None, "hydra"),
    ("defaults: [mine]\n" + METHOD, ""): (None, "circular"),
    ("label: " + 3000 * "[", ""): (None, "circular"),
    ("label: mine\n", ""): ("method._target_", "missing"),
    (METHOD, ""): ("method._target_", "unknown_class"),
    (METHOD, "x = (\n"): ("method._target_", "import_error"),
    (METHOD, "class Mine:\n    label: str\n"): ("method._target_", "not_a_dataclass"),
    (METHOD, "from dataclasses import dataclass\n@dataclass\nclass Mine:\n    label: str\n"):
        ("method", "wrong_type"),
}  # fmt: skip
"""The YAML file of a method and its module, with the setting and the code of the error."""


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("line", "setting", "code"), cases(LINES))
def test_a_line_is_refused(line: str, setting: str | None, code: str | None) -> None:
    error = assert_line_refused(line, setting=setting, code=code)
    assert SUGGESTIONS.get(line, "") in str(error)


@pytest.mark.parametrize(("line", "setting", "code"), cases(SETTINGS))
def test_settings_are_refused(line: str, setting: str | None, code: str | None) -> None:
    assert_refused(line.split(" "), setting=setting, code=code)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("vadm", "vadam"), ("PBP", "pbp"), ("dropout", "mc_dropout"), ("ours", None), ("10", None)],
)
def test_the_closest_name_is_suggested(word: str, expected: str | None) -> None:
    assert closest_match(word, ["vadam", "pbp", "mc_dropout", "1"]) == expected


@pytest.mark.parametrize("line", WRONG_VALUES)
def test_a_value_is_refused(line: str) -> None:
    words = line.split()
    assert_refused(words, setting=words[-1].partition("=")[0])


def test_a_bad_table_is_named() -> None:
    """tests/data/own_table/test_source.py tests what is wrong with tables."""
    Path("bad.csv").write_text("a,b,price\n1,2,3\n2,3,4\n3,4,6\n")
    words = ["dataset=csv", "dataset.path=bad.csv", "dataset.target=price"]
    error = assert_refused(words, setting="dataset.path", code="too_few_rows")
    assert "bad.csv" in str(error)


@pytest.mark.slow
@pytest.mark.parametrize(("text", "module"), FILES)
def test_errors_in_files_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, module: str
) -> None:
    setting, code = FILES[text, module]
    Path("method").mkdir()
    Path("method/mine.yaml").write_text(text)
    Path("broken_module.py").write_text(module)
    monkeypatch.setattr("sys.path", [*sys.path])
    make_importable([tmp_path])
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    error = assert_line_refused("method=mine", setting=setting, code=code, config_dir=str(tmp_path))
    sys.modules.pop("broken_module", None)
    if code in ("yaml", "hydra"):
        assert "mine.yaml, line " in str(error) or "'method/mine'" in str(error)
    if code == "import_error":
        assert "broken_module.py, line 1" in str(error)


def test_a_file_of_ones_own_that_is_not_utf8(tmp_path: Path) -> None:
    Path("method").mkdir()
    Path("method/mine.yaml").write_bytes("label: Größe\n".encode("latin-1"))
    with raises_user_error(code="not_utf8") as error:
        compose_configs(["method=mine"], config_dir=str(tmp_path))
    assert "method/mine.yaml" in str(error.value) and "0xf6" in str(error.value)
