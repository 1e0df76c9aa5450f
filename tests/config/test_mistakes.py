"""Every mistake in the settings of a run is a `UserError` about its setting, with its code.

tests/cli/test_mistakes.py checks what the command line makes of such errors.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.refusals import assert_line_refused, assert_refused
from support.user_errors import assert_user_error

from bnnbench.config.configs import GROUPS
from bnnbench.config.sweep import compose_configs
from bnnbench.types import UserError

LINES: dict[str, tuple[str | None, str | None]] = {
    "method=vadm": ("method", "unknown_option"),
    "method=3": ("method", "unknown_option"),
    "method=": ("method", "unknown_option"),
    "method=[vadm]": ("method", "unknown_option"),
    "-m method=bbb,vadamm": ("method", "unknown_option"),
    "depth=-1": ("depth", "unknown_option"),
    "experiment=_gvi": ("experiment", "unknown_option"),
    "dataset=my.csv": ("dataset", "file"),
    "training.epoch=3": ("training.epoch", "unknown_setting"),
    "dataset.splits=2": ("dataset.splits", "unknown_setting"),
    "method=vadam method.init_from=map": ("method.init_from", "unknown_setting"),
    "dataset=boston dataset.n_splits=2": ("dataset.n_splits", "unknown_setting"),
    "sede=3": ("sede", "unknown_setting"),
    "+method.momentum=3": ("method.momentum", "unknown_setting"),
    "+training.speed=3": ("training.speed", "unknown_setting"),
    "+network.skip=3": ("network.skip", "unknown_setting"),
    "loss=beta +loss.speed=3": ("loss.speed", "unknown_setting"),
    "seed=[1": ("seed", "syntax"),
    "seed=1\n2": ("seed", "syntax"),
    "seed": ("seed", "syntax"),
    "=1": (None, "no_key"),
    "seed=\udcff": ("seed", "not_utf8"),
    "~seed": ("seed", "removed"),
    "~method": ("method", "removed"),
    "+foo=1": ("foo", "no_effect"),
    "+dataset=boston": ("dataset", "added"),
    "method=[vadam,bbb]": ("method", "needs_multirun"),
    "method=vadam,bbb": ("method", "needs_multirun"),
    "depth=1,2,3": ("depth", "needs_multirun"),
    "splits=0,3": ("splits", "needs_multirun"),
    "seed=range(3)": ("seed", "needs_multirun"),
    "-m seed=range(0,inf)": ("seed", "range"),
    "-m seed=range(3,0)": ("seed", "range"),
    "-m depth=range(0,3)": ("depth", "range"),
    "-m seed=interval(0,1)": ("seed", "interval"),
    "-m method=glob(zz*)": ("method", "glob"),
    "-m hydra.launcher.n_jobs=2": ("hydra/launcher", "launcher"),
    "outputs_dir=null": ("outputs_dir", None),
    "outputs_dir=": ("outputs_dir", None),
    "outputs_dir=[a]": ("outputs_dir", "bracket"),
    f"outputs_dir=a/{'x' * 300}": ("outputs_dir", None),
    "data_dir=": ("data_dir", None),
    "training=null": ("training", "not_a_group"),
    "dataset=csv": ("dataset.path", None),
    "dataset=csv dataset.path=no.csv dataset.target=y": ("dataset.path", "file_not_found"),
    "dataset.protocol.sample_budget=medium": ("training.samples", "unresolved"),
}
"""Command lines that are refused by their words or while they are composed."""

SUGGESTIONS = {
    "method=vadm": "did you mean 'vadam'?",
    "method=PBP": "did you mean 'pbp'?",
    "method=mine": "bnnbench.toml",
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

VALUES = (
    "training.epochs=many",
    "training.epochs=1.5",
    f"training.epochs={'9' * 30}",
    "training.samples=0",
    "training.learning_rate=-1",
    "training.betas=[0.9]",
    "training.betas=[0.9,1.0]",
    "training.betas=0.9",
    "training.dtype=half",
    "training.compile=yes",
    "network.width=0",
    "evaluation.samples=0",
    "dataset.n_splits=1000000",
    "dataset=boston dataset.features=5",
    "method.prior_precision=-1",
    "method.noise_precision=high",
    "method.initial_precision=0",
    "method=mc_dropout method.dropout=1",
    "method=mc_dropout method.noise=foo",
    "method=practical_vi method.curvature=exact",
    "method=practical_vi method.initial_precision=-1",
    "method=ivon method.initial_curvature=0",
    "method=svgd method.drift=away",
    "method=svgd method.noise_precision=known",
    "method=vprop method.square_root=maybe",
    "method=bbb method.minibatch_weights=even",
    "method=pbp method.prior_update=foo",
    "method=pbp method.batch_size=0",
    "method=sgld method.step_decay=0.5",
    "method=sghmc method.friction=1",
    "method=deep_ensemble method.members=0",
    "method=deep_ensemble method.adversarial=often",
    "method=deep_ensemble method.adversarial_step=0",
    "method=laplace method.curvature=exact",
    "method=laplace method.last_layer=no",
    "method=laplace method.predictive=probit",
    "method=laplace method.prior_precision_by=taste",
    "method=laplace method.initial_prior_precision=0",
    "method=laplace method.prior_precision_by=marginal_likelihood method.prior_precision=2",
    "method=laplace depth=2 method.curvature=full",
    "method=laplace method.last_layer=true network.width=2000 method.curvature=full",
    "loss=beta loss.beta=1",
    "loss=gamma loss.gamma=wide",
    "seed=x",
    "seed=-1",
    "workers=0",
    "workers=100000",
    "figures=svg",
    "search.iterations=0",
    "search.folds=1",
    "search.folds=1000",
    "method.label=../evil",
    "experiment.label=.x",
    "method.label=null",
    "divergence.label=",
    f"method.label={'x' * 300}",
    f"loss.label={'x' * 101}",
    "dataset.name=a/b",
)
"""Refused values: the last setting of each line is wrong."""

COMBINATIONS = {
    "likelihood=heteroscedastic method.noise_precision=3":
        ("method.noise_precision", "likelihood"),
    "method=pbp likelihood=heteroscedastic": ("likelihood", "not_accepted"),
    "method=pbp loss=gamma": ("likelihood", "not_accepted"),
    "method=map prior=laplace": ("prior", "not_accepted"),
    "splits=99": ("splits", "count_out_of_range"),
    "splits=[0,0]": ("splits", "repeated"),
    "splits=[0,20]": ("splits", "unknown_split"),
    "search.initial_points=31": ("search.initial_points", "too_many"),
    "search=none": ("search", None),
    "protocol=trial search=none": ("search", None),
    "network=null": ("network", "not_a_group"),
    "dataset.protocol.bounds=text": ("dataset.protocol.bounds", "not_a_group"),
    "method=bbb divergence.prior=text": ("divergence.prior", "wrong_type"),
    "method._target_=bnnbench.methods": ("method._target_", "unknown_class"),
    "search._target_=collections.Counter": ("search._target_", "not_a_dataclass"),
    "experiment._target_=bnnbench.settings.Network": ("experiment._target_", "wrong_type"),
    "dataset.protocol.bounds.noise_precision=[3,2]": ("bounds.noise_precision", None),
    "dataset.protocol.bounds.noise_precision=[1,inf]": ("bounds.noise_precision", None),
    "dataset.protocol.bounds.noise_precision=[nan,2]": ("bounds.noise_precision", None),
    "dataset.protocol.bounds.noise_precision=[a,2]": ("bounds.noise_precision", None),
    "dataset.test_fraction=0.0001": ("dataset.test_fraction", "no_test_rows"),
    "dataset.test_fraction=0.9999": ("dataset.test_fraction", "too_few_training_rows"),
}  # fmt: skip
"""Settings that are refused when the run is built."""

ROWS = "".join(f"{i},{i % 7},{i % 5}.5\n" for i in range(30))

TABLES = {
    "a,b,y\n" + ROWS: ("dataset.target", "unknown_column"),
    "a,b,price\n" + ROWS + "1,green,2\n": ("dataset.path", "column_issue"),
    "a,b,price\n" + ROWS + "1,,2\n": ("dataset.path", "column_issue"),
    "a,b,price\n1,2,3\n2,3,4\n3,4,6\n": ("dataset.path", "too_few_rows"),
    "a,b,price\n" + "".join(f"{i},{i % 7},5\n" for i in range(30)): ("dataset.target", "constant"),
}

METHOD = "_target_: broken_module.Mine\nlabel: mine\n"

FILES = {
    ("_target_: x.y\n  label: [\n", ""): (None, "yaml"),
    ("\tlabel: x\n", ""): (None, "yaml"),
    ("label: 1\nlabel: 2\n", ""): (None, "yaml"),
    ("- a\n", ""): ("method", "not_a_group"),
    ("defaults: [none]\n", ""): (None, "hydra"),
    ("defaults: 3\n", ""): (None, "hydra"),
    ("label: mine\n", ""): ("method._target_", "missing"),
    ("_target_: nowhere.Mine\nlabel: mine\n", ""): ("method._target_", "unknown_class"),
    (METHOD, ""): ("method._target_", "unknown_class"),
    (METHOD, "x = (\n"): ("method._target_", "import_error"),
    (METHOD, "x = 1 / 0\n"): ("method._target_", "import_error"),
    (METHOD, "import nowhere\n"): ("method._target_", "import_error"),
    (METHOD, "class Mine:\n    label: str\n"): ("method._target_", "not_a_dataclass"),
    (METHOD, "from dataclasses import dataclass\n@dataclass\nclass Mine:\n    label: str\n"):
        ("method", "wrong_type"),
}  # fmt: skip
"""The YAML file of a method and its module, with the setting and the code of the error."""


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", LINES)
def test_a_line_is_refused(line: str) -> None:
    setting, code = LINES[line]
    assert_line_refused(line, setting=setting, code=code)


@pytest.mark.parametrize("group", GROUPS)
def test_no_group_may_be_absent(group: str) -> None:
    assert_line_refused(f"{group}=null", setting=group, code="unknown_option")


@pytest.mark.parametrize("line", SUGGESTIONS)
def test_the_error_suggests_a_remedy(line: str) -> None:
    setting, code = LINES.get(line, ("method", "unknown_option"))
    error = assert_line_refused(line, setting=setting, code=code)
    assert SUGGESTIONS[line] in str(error)


@pytest.mark.parametrize("line", VALUES)
def test_a_value_is_refused(line: str) -> None:
    words = line.split()
    assert_refused(words, setting=words[-1].partition("=")[0])


@pytest.mark.parametrize("line", COMBINATIONS)
def test_a_combination_is_refused(line: str) -> None:
    setting, code = COMBINATIONS[line]
    assert_refused(line.split(), setting=setting, code=code)


@pytest.mark.parametrize("text", TABLES, ids=str)
def test_a_bad_table_is_named(text: str) -> None:
    Path("bad.csv").write_text(text)
    setting, code = TABLES[text]
    words = ["dataset=csv", "dataset.path=bad.csv", "dataset.target=price"]
    error = assert_refused(words, setting=setting, code=code)
    assert "bad.csv" in str(error)


@pytest.mark.parametrize(("text", "module"), FILES)
def test_errors_in_files_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, module: str
) -> None:
    setting, code = FILES[text, module]
    Path("method").mkdir()
    Path("method/mine.yaml").write_text(text)
    Path("broken_module.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
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
    with pytest.raises(UserError) as error:
        compose_configs(["method=mine"], config_dir=str(tmp_path))
    assert_user_error(error, code="not_utf8")
    assert "method/mine.yaml" in str(error.value) and "0xf6" in str(error.value)
