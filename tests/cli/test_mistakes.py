"""Every mistake on the command line is one sentence and exit code 2, and writes nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from support.command import Command
from support.config import TINY

from bnnbench.config.configs import GROUPS

MISTAKES: dict[str, tuple[list[str], str | None] | tuple[list[str], str | None, str]] = {
    "unknown method": (["method=vadm"], "method", "unknown_option"),
    "a method in capitals": (["method=PBP"], "method", "unknown_option"),
    "unknown method without a similar name": (["method=mine"], "method", "unknown_option"),
    "a number for a method": (["method=3"], "method", "unknown_option"),
    "unknown data set": (["dataset=bostn"], "dataset", "unknown_option"),
    "unknown divergence": (["divergence=jss"], "divergence", "unknown_option"),
    "unknown protocol": (["protocol=trail"], "protocol", "unknown_option"),
    "unknown option in a sweep": (["-m", "method=bbb,vadamm"], "method", "unknown_option"),
    "unknown key": (["training.epoch=3"], "training.epoch", "unknown_setting"),
    "a setting of another section": (["dataset.splits=2"], "dataset.splits", "unknown_setting"),
    "a setting of another method": (
        ["method=vadam", "method.init_from=map"], "method.init_from", "unknown_setting",
    ),
    "a setting of another data set": (
        ["dataset=boston", "dataset.n_splits=2"], "dataset.n_splits", "unknown_setting",
    ),
    "unknown setting at the top level": (["sede=3"], "sede", "unknown_setting"),
    "added setting": (["+method.momentum=3"], "method.momentum", "unknown_setting"),
    "added training setting": (["+training.speed=3"], "training.speed", "unknown_setting"),
    "added network setting": (["+network.skip=3"], "network.skip", "unknown_setting"),
    "syntax": (["seed=[1"], "seed", "syntax"),
    "no key": (["=1"], None, "no_key"),
    "no value": (["seed"], "seed", "syntax"),
    "a removed setting": (["~seed"], "seed", "removed"),
    "a removed group": (["~method"], "method", "removed"),
    "a negative number for an option": (["depth=-1"], "depth", "unknown_option"),
    "an empty option": (["method="], "method", "unknown_option"),
    "a list of methods": (["method=[vadam,bbb]"], "method", "needs_multirun"),
    "a list of unknown methods": (["method=[vadm]"], "method", "unknown_option"),
    "forgotten -m": (["method=vadam,bbb"], "method", "needs_multirun"),
    "forgotten -m, three": (["depth=1,2,3"], "depth", "needs_multirun"),
    "forgotten -m or list": (["splits=0,3"], "splits", "needs_multirun"),
    "forgotten -m, range": (["seed=range(3)"], "seed", "needs_multirun"),
    "an infinite range": (["-m", "seed=range(0,inf)"], "seed", "range"),
    "an empty range": (["-m", "seed=range(3,0)"], "seed", "range"),
    "a range of options": (["-m", "depth=range(0,3)"], "depth", "range"),
    "an interval": (["-m", "seed=interval(0,1)"], "seed", "interval"),
    "a sweep with many errors": (["-m", "seed=-1,-2,-3,-4,-5"], "seed"),
    "parallel jobs without a launcher": (
        ["-m", "hydra.launcher.n_jobs=2"], "hydra/launcher", "launcher",
    ),
    "a file as a data set": (["dataset=my.csv"], "dataset", "file"),
    "a setting as the value of an option": (["--info", "seed=1"], "--info"),
    "a pattern without matches": (["-m", "method=glob(zz*)"], "method", "glob"),
    "a sweep with errors": (["-m", "seed=-1,-2"], "seed"),
    "not UTF-8": (["seed=\udcff"], "seed", "not_utf8"),
    "a line break": (["seed=1\n2"], "seed", "syntax"),
    "too many epochs": (["training.epochs=" + "9" * 30], "training.epochs"),
    "too many random splits": (["dataset.n_splits=1000000"], "dataset.n_splits", "too_large"),
    "added key": (["+foo=1"], "foo", "no_effect"),
    "added group": (["+dataset=boston"], "dataset", "added"),
    "unknown option": (["--cgf", "job"], "--cgf"),
    "two exclusive options": (["-m", "--cfg", "job"], "--cfg"),
    "an unknown package": (["--cfg", "job", "--package", "nowhere"], "--package"),
    "a base file of experiments": (["experiment=_gvi"], "experiment", "unknown_option"),
    "mode": (["hydra.mode=X"], "hydra.mode", "hydra"),
    "wrong type": (["training.epochs=many"], "training.epochs"),
    "half an epoch": (["training.epochs=1.5"], "training.epochs"),
    "no samples": (["training.samples=0"], "training.samples"),
    "negative rate": (["training.learning_rate=-1"], "training.learning_rate"),
    "one beta": (["training.betas=[0.9]"], "training.betas", "not_a_list"),
    "large beta": (["training.betas=[0.9,1.0]"], "training.betas"),
    "betas not a list": (["training.betas=0.9"], "training.betas", "not_a_list"),
    "dtype": (["training.dtype=half"], "training.dtype"),
    "compile": (["training.compile=yes"], "training.compile"),
    "width": (["network.width=0"], "network.width"),
    "negative precision": (["method.prior_precision=-1"], "method.prior_precision"),
    "text precision": (["method.noise_precision=high"], "method.noise_precision"),
    "initial precision": (["method.initial_precision=0"], "method.initial_precision"),
    "dropout of one": (["method=mc_dropout", "method.dropout=1"], "method.dropout"),
    "kind of noise": (["method=mc_dropout", "method.noise=foo"], "method.noise"),
    "curvature": (["method=practical_vi", "method.curvature=exact"], "method.curvature"),
    "practical precision": (
        ["method=practical_vi", "method.initial_precision=-1"], "method.initial_precision",
    ),
    "initial curvature": (
        ["method=ivon", "method.initial_curvature=0"], "method.initial_curvature",
    ),
    "drift": (["method=svgd", "method.drift=away"], "method.drift"),
    "a word for a precision": (
        ["method=svgd", "method.noise_precision=known"], "method.noise_precision",
    ),
    "square root": (["method=vprop", "method.square_root=maybe"], "method.square_root"),
    "minibatch weights": (
        ["method=bbb", "method.minibatch_weights=even"], "method.minibatch_weights",
    ),
    "prior update": (["method=pbp", "method.prior_update=foo"], "method.prior_update"),
    "an empty minibatch": (["method=pbp", "method.batch_size=0"], "method.batch_size"),
    "figures": (["figures=svg"], "figures"),
    "Robbins-Monro": (["method=sgld", "method.step_decay=0.5"], "method.step_decay"),
    "friction": (["method=sghmc", "method.friction=1"], "method.friction"),
    "members": (["method=deep_ensemble", "method.members=0"], "method.members"),
    "adversarial": (["method=deep_ensemble", "method.adversarial=often"], "method.adversarial"),
    "adversarial step": (
        ["method=deep_ensemble", "method.adversarial_step=0"], "method.adversarial_step",
    ),
    "curvature of laplace": (["method=laplace", "method.curvature=exact"], "method.curvature"),
    "last layer": (["method=laplace", "method.last_layer=no way"], "method.last_layer"),
    "predictive": (["method=laplace", "method.predictive=probit"], "method.predictive"),
    "prior precision by": (
        ["method=laplace", "method.prior_precision_by=taste"], "method.prior_precision_by",
    ),
    "initial prior precision": (
        ["method=laplace", "method.initial_prior_precision=0"], "method.initial_prior_precision",
    ),
    "a prior precision that is also optimised": (
        ["method=laplace", "method.prior_precision_by=marginal_likelihood",
         "method.prior_precision=2"], "method.prior_precision",
    ),
    "full matrix of a large network": (
        ["method=laplace", "method.curvature=full", "depth=2"], "method.curvature",
    ),
    "full matrix of a wide last layer": (
        ["method=laplace", "method.curvature=full", "method.last_layer=true",
         "network.width=2000"], "method.curvature",
    ),
    "a noise precision that is also predicted": (
        ["likelihood=heteroscedastic",
         "method.noise_precision=3"], "method.noise_precision", "likelihood",
    ),
    "likelihood of pbp": (
        ["method=pbp", "likelihood=heteroscedastic"], "likelihood", "not_accepted",
    ),
    "loss of pbp": (["method=pbp", "loss=gamma"], "likelihood", "not_accepted"),
    "prior of a point estimate": (["method=map", "prior=laplace"], "prior", "not_accepted"),
    "beta": (["loss=beta", "loss.beta=1"], "loss.beta"),
    "gamma": (["loss=gamma", "loss.gamma=wide"], "loss.gamma"),
    "added loss setting": (["loss=beta", "+loss.speed=3"], "loss.speed", "unknown_setting"),
    "seed": (["seed=x"], "seed"),
    "negative seed": (["seed=-1"], "seed"),
    "splits": (["splits=99"], "splits", "count_out_of_range"),
    "a split twice": (["splits=[0,0]"], "splits", "repeated"),
    "split list": (["splits=[0,20]"], "splits", "unknown_split"),
    "workers": (["workers=0"], "workers"),
    "too many workers": (["workers=100000"], "workers"),
    "iterations": (["search.iterations=0"], "search.iterations"),
    "initial points": (["search.initial_points=31"], "search.initial_points", "too_many"),
    "folds": (["search.folds=1"], "search.folds"),
    "too many folds": (["search.folds=1000"], "search.folds"),
    "no search and no values": (["search=none"], "search"),
    "no search and no values in a trial": (["protocol=trial", "search=none"], "search"),
    "a label with a path": (["method.label=../evil"], "method.label"),
    "a hidden label": (["experiment.label=.x"], "experiment.label"),
    "no label": (["method.label=null"], "method.label"),
    "an empty label": (["divergence.label="], "divergence.label"),
    "a long label": (["method.label=" + "x" * 300], "method.label"),
    "a long loss": (["loss.label=" + "x" * 101], "loss.label"),
    "a name with a slash": (["dataset.name=a/b"], "dataset.name"),
    "no outputs folder": (["outputs_dir=null"], "outputs_dir"),
    "no outputs folder of a sweep": (["-m", "seed=0,1", "outputs_dir=null"], "outputs_dir"),
    "an empty outputs folder": (["outputs_dir="], "outputs_dir"),
    "a list of outputs folders": (["outputs_dir=[a]"], "outputs_dir", "bracket"),
    "a long outputs folder": (["outputs_dir=a/" + "x" * 300], "outputs_dir"),
    "no data folder": (["data_dir="], "data_dir"),
    "a section without settings": (["network=null"], "network", "not_a_group"),
    "bounds not a mapping": (
        ["dataset.protocol.bounds=text"], "dataset.protocol.bounds", "not_a_group",
    ),
    "prior of a divergence not a prior": (
        ["method=bbb", "divergence.prior=text"], "divergence.prior", "wrong_type",
    ),
    "no features": (["dataset=boston", "dataset.features=5"], "dataset.features"),
    "a section without settings that others use": (["training=null"], "training", "not_a_group"),
    "unknown class": (["method._target_=bnnbench.methods"], "method._target_", "unknown_class"),
    "not a dataclass": (
        ["search._target_=collections.Counter"], "search._target_", "not_a_dataclass",
    ),
    "not an experiment": (
        ["experiment._target_=bnnbench.settings.Network"], "experiment._target_", "wrong_type",
    ),
    "device": (["device=tpu"], "device", "unknown_option"),
    "evaluation": (["evaluation.samples=0"], "evaluation.samples"),
    "bounds": (["dataset.protocol.bounds.noise_precision=[3,2]"], "bounds.noise_precision"),
    "infinite bounds": (
        ["dataset.protocol.bounds.noise_precision=[1,inf]"], "bounds.noise_precision",
    ),
    "bounds not a number": (
        ["dataset.protocol.bounds.noise_precision=[nan,2]"], "bounds.noise_precision",
    ),
    "no test rows": (["dataset.test_fraction=0.0001"], "dataset.test_fraction", "no_test_rows"),
    "no training rows": (
        ["dataset.test_fraction=0.9999"], "dataset.test_fraction", "too_few_training_rows",
    ),
    "text bounds": (["dataset.protocol.bounds.noise_precision=[a,2]"], "bounds.noise_precision"),
    "unknown sample budget": (
        ["dataset.protocol.sample_budget=medium"], "training.samples", "unresolved",
    ),
    "csv without path": (["dataset=csv"], "dataset.path"),
    "missing csv": (
        ["dataset=csv", "dataset.path=no.csv",
         "dataset.target=y"], "dataset.path", "file_not_found",
    ),
}  # fmt: skip
"""Overrides, the setting that the error is about, and its code."""

WITHOUT_OPTION = {f"no {group}": ([f"{group}=null"], group, "unknown_option") for group in GROUPS}

SUGGESTIONS = {
    "method=vadm": "vadam",
    "method=PBP": "pbp",
    "dataset=bostn": "boston",
    "divergence=jss": "js",
    "training.epoch=3": "training.epochs",
    "dataset.splits=2": "splits",
    "sede=3": "seed",
    "method=[vadm]": "vadam",
    "method=vadam,bbb": "-m",
    "splits=0,3": "splits=[0,3]",
    "dataset=my.csv": "dataset=csv dataset.path=my.csv",
    "outputs_dir=[a]": "outputs_dir=./[a]",
    "method=mine": "bnnbench.toml",
}
"""What the error suggests."""

ROWS = "".join(f"{i},{i % 7},{i % 5}.5\n" for i in range(30))

TABLES = {
    "missing column": ("a,b,y\n" + ROWS, "price", "dataset.target", "unknown_column"),
    "text": ("a,b,y\n" + ROWS + "1,green,2\n", "y", "dataset.path", "column_issue"),
    "gap": ("a,b,y\n" + ROWS + "1,,2\n", "y", "dataset.path", "column_issue"),
    "three rows": ("a,b,y\n1,2,3\n2,3,4\n3,4,6\n", "y", "dataset.path", "too_few_rows"),
    "constant target": (
        "a,b,y\n" + "".join(f"{i},{i % 7},5\n" for i in range(30)),
        "y", "dataset.target", "constant",
    ),
}  # fmt: skip


def own_table(path: Path) -> list[str]:
    return ["dataset=csv", "dataset.target=y", f"dataset.path={path}"]


@pytest.mark.parametrize("name", (*MISTAKES, *WITHOUT_OPTION))
def test_a_mistake_is_one_sentence_and_writes_nothing(command: Command, name: str) -> None:
    overrides, setting, *code = {**MISTAKES, **WITHOUT_OPTION}[name]
    small = ["training.epochs=1", "splits=1"]  # so that a missed mistake ends soon
    command.assert_refused("run", *small, *overrides, setting=setting, code=next(iter(code), None))
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("override", SUGGESTIONS)
def test_the_error_suggests_a_remedy(command: Command, override: str) -> None:
    command("run", override)
    assert SUGGESTIONS[override] in str(command.error)


def test_a_sweep_prints_a_few_errors_and_counts_the_others(command: Command) -> None:
    _, _, errors = command("run", "-m", "seed=-1,-2,-3,-4,-5")
    assert all(f"not {seed}." in errors for seed in (-1, -2, -3)) and "2 more" in errors
    assert "-4" not in errors


METHOD = "_target_: {}\nlabel: mine\n"

FILES = {
    "broken YAML": ("_target_: x.y\n  label: [\n", "", None, "yaml"),
    "a tab": ("\tlabel: x\n", "", None, "yaml"),
    "a duplicate key": ("label: 1\nlabel: 2\n", "", None, "yaml"),
    "a list": ("- a\n", "", "method", "not_a_group"),
    "a missing base": ("defaults: [none]\n", "", None, "hydra"),
    "defaults not a list": ("defaults: 3\n", "", None, "hydra"),
    "no target": ("label: mine\n", "", "method._target_", "missing"),
    "a missing module": (METHOD.format("nowhere.Mine"), "", "method._target_", "unknown_class"),
    "a missing class": (
        METHOD.format("broken_module.Mine"), "", "method._target_", "unknown_class",
    ),
    "wrong syntax": (
        METHOD.format("broken_module.Mine"), "x = (\n", "method._target_", "import_error",
    ),
    "an error": (
        METHOD.format("broken_module.Mine"), "x = 1 / 0\n", "method._target_", "import_error",
    ),
    "a missing import": (
        METHOD.format("broken_module.Mine"), "import nowhere\n", "method._target_", "import_error",
    ),
    "not a dataclass": (
        METHOD.format("broken_module.Mine"), "class Mine:\n    label: str\n",
        "method._target_", "not_a_dataclass",
    ),
    "not a method": (
        METHOD.format("broken_module.Mine"),
        "from dataclasses import dataclass\n@dataclass\nclass Mine:\n    label: str\n",
        "method", "wrong_type",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_errors_in_files_of_ones_own(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, module, setting, code = FILES[name]
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "mine.yaml").write_text(text)
    (tmp_path / "broken_module.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    small = ["training.epochs=1", "training.final_epochs=1", "training.samples=1"]
    words = ["--config-dir", str(tmp_path), "method=mine", *small]
    command.assert_refused("run", *words, setting=setting, code=code)
    sys.modules.pop("broken_module", None)
    assert list(Path().iterdir()) == []
    if code in ("yaml", "hydra"):
        assert "mine.yaml, line " in str(command.error) or "'method/mine'" in str(command.error)
    if code == "import_error":
        assert "broken_module.py, line 1" in str(command.error)


def test_a_file_of_ones_own_that_is_not_utf8(command: Command, tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "mine.yaml").write_bytes("label: Größe\n".encode("latin-1"))
    words = ["--config-dir", str(tmp_path), "method=mine"]
    command.assert_refused("run", *words, code="not_utf8")
    assert "method/mine.yaml" in str(command.error) and "0xf6" in str(command.error)


def test_a_folder_that_was_deleted(command: Command) -> None:
    Path.cwd().rmdir()
    command.assert_refused("run", code="deleted")


@pytest.mark.usefixtures("without_figures")
def test_a_run_that_diverged_everywhere_fails_after_its_table(
    command: Command, table_csv: Path
) -> None:
    words = [*own_table(table_csv), *TINY, "workers=1", "training.learning_rate=1e300"]
    code, out, errors = command("run", *words)
    assert code == 1 and "results: " in out
    assert "the run diverged" in errors.strip().splitlines()[-1]


@pytest.mark.parametrize("name", TABLES)
def test_a_bad_table_is_named(command: Command, tmp_path: Path, name: str) -> None:
    text, target, setting, code = TABLES[name]
    (tmp_path / "bad.csv").write_text(text)
    words = [*own_table(tmp_path / "bad.csv"), f"dataset.target={target}"]
    command.assert_refused("run", *words, setting=setting, code=code)
    assert "bad.csv" in str(command.error) and list(Path().iterdir()) == []


def test_an_unwritable_output_folder(command: Command, table_csv: Path) -> None:
    blocked = Path("file")
    blocked.write_text("in the way")
    words = [*own_table(table_csv), *TINY, f"outputs_dir={blocked / 'out'}"]
    command.assert_refused("run", *words, setting="outputs_dir")


def test_cuda_asked_for_and_absent(command: Command) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    command.assert_refused("run", "device=cuda", setting="device")


@pytest.mark.parametrize(
    ("arguments", "setting", "code"),
    [(["report", "nowhere"], "path", "no_folder"), (["list", "methots"], "list", None),
     (["data", "verify", "mars"], "dataset.name", None), (["frobnicate"], "COMMAND", None),
     (["method=bbb"], "COMMAND", None), (["report", "--error-bars", "sd"], "--error-bars", None),
     (["report", "--foo"], "--foo", None)],
)  # fmt: skip
def test_mistakes_in_other_commands(
    command: Command, arguments: list[str], setting: str, code: str | None
) -> None:
    command.assert_refused(*arguments, setting=setting, code=code)
