"""Every mistake on the command line is one sentence and exit code 2, and writes nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.command import one_sentence
from support.config import TINY

from bnnbench.cli.configs import GROUPS

Command = Callable[..., tuple[int, str, str]]

TABLE_ARGUMENTS = ["dataset=csv", "dataset.target=y"]


def bad_table(folder: Path, text: str) -> str:
    path = folder / "bad.csv"
    path.write_text(text)
    return f"dataset.path={path}"


ROWS = "".join(f"{i},{i % 7},{i % 5}.5\n" for i in range(30))

MISTAKES = {
    "unknown method": (["method=vadm"], ["method=vadm does not exist; did you mean vadam?"]),
    "a method in capitals": (["method=PBP"], ["method=PBP", "did you mean pbp?"]),
    "a method like no other": (["method=mine"], ["is one of bb", "a bnnbench.toml, and here"]),
    "number for a method": (["method=3"], ["method=3", "vadam"]),
    "unknown data set": (["dataset=bostn"], ["dataset=bostn", "did you mean boston?"]),
    "unknown divergence": (["divergence=jss"], ["divergence=jss", "did you mean js?"]),
    "unknown protocol": (["protocol=qick"], ["protocol=qick", "did you mean quick?"]),
    "unknown in a sweep": (["-m", "method=bbb,vadamm"], ["method=vadamm", "mean vadam?"]),
    "unknown key": (["training.epoch=3"], ["training.epoch ", "training.epochs"]),
    "a key in a place that has none": (["dataset.splits=2"], ["did you mean splits?"]),
    "a key of another method": (["method=vadam", "method.start=map"], ["`bnnbench run --help`"]),
    "a key of another set": (["dataset=boston", "dataset.n_splits=2"], ["`bnnbench run --help`"]),
    "unknown top key": (["sede=3"], ["sede", "seed"]),
    "added setting": (["+method.momentum=3"], ["method.momentum", "prior_precision"]),
    "added training setting": (["+training.speed=3"], ["training.speed", "learning_rate"]),
    "added network setting": (["+network.skip=3"], ["network.skip", "width"]),
    "syntax": (["seed=[1"], ["seed=[1", "quotes"]),
    "no key": (["=1"], ["=1", "KEY=VALUE"]),
    "no value": (["seed"], ["seed", "KEY=VALUE"]),
    "a setting taken away": (["~seed"], ["~seed", "seed=VALUE"]),
    "a group taken away": (["~method"], ["~method"]),
    "negative option": (["depth=-1"], ["depth=-1 does not exist", "0, 1, 2, 3"]),
    "no option": (["method="], ["method= does not exist", "vadam"]),
    "a list of methods": (["method=[vadam,bbb]"], ["method=vadam,bbb", "-m", "both"]),
    "a list of no methods": (["method=[vadm]"], ["method=[vadm] does not exist", "mean vadam?"]),
    "forgotten -m": (["method=vadam,bbb"], ["method=vadam,bbb", "add -m to run both"]),
    "forgotten -m, three": (["depth=1,2,3"], ["depth=1,2,3", "add -m to run all"]),
    "forgotten -m or list": (["splits=0,3"], ["add -m", "splits=[0,3]"]),
    "forgotten -m, range": (["seed=range(3)"], ["seed=range(3)", "add -m"]),
    "an endless sweep": (["-m", "seed=range(0,inf)"], ["range(0,inf)", "1 to"]),
    "an empty sweep": (["-m", "seed=range(3,0)"], ["range(3,0)", "1 to"]),
    "a sweep over numbers of options": (["-m", "depth=range(0,3)"], ["depth=range(0,3)", "0,1"]),
    "a sweep over an interval": (["-m", "seed=interval(0,1)"], ["interval(0,1)", "without end"]),
    "a sweep of many refusals": (["-m", "seed=-1,-2,-3,-4,-5"], ["not -3.", "2 more were refused"]),
    "jobs of no launcher": (["-m", "hydra.launcher.n_jobs=2"], ["hydra/launcher=joblib"]),
    "a file for a data set": (["dataset=my.csv"], ["dataset=csv dataset.path=my.csv"]),
    "an action that is none": (["--info", "seed=1"], ["--info", "seed=1"]),
    "a sweep over no option": (["-m", "method=glob(zz*)"], ["glob(zz*)", "no option"]),
    "a sweep of refusals": (["-m", "seed=-1,-2"], ["seed", "-1", "-2"]),
    "no text": (["seed=\udcff"], ["UTF-8"]),
    "a line break": (["seed=1\n2"], ["seed=1\\n2"]),
    "more than can be counted": (["training.epochs=" + "9" * 30], ["training.epochs", "1e+12"]),
    "more splits than can be drawn": (["dataset.n_splits=1000000"], ["dataset.n_splits", "10001"]),
    "added key": (["+foo=1"], ["foo"]),
    "added group": (["+dataset=boston"], ["+dataset=boston", "leave out the +"]),
    "unknown option": (["--cgf", "job"], ["--cgf"]),
    "two actions": (["-m", "--cfg", "job"], ["--multirun", "--cfg"]),
    "a part that is not there": (["--cfg", "job", "--package", "nowhere"], ["nowhere"]),
    "a part of experiments": (["experiment=_gvi"], ["experiment=_gvi does not exist", "uci"]),
    "mode": (["hydra.mode=X"], ["hydra.mode", "MULTIRUN"]),
    "wrong type": (["training.epochs=many"], ["training.epochs", "whole number", "many"]),
    "half an epoch": (["training.epochs=1.5"], ["training.epochs", "1.5"]),
    "no samples": (["training.samples=0"], ["training.samples"]),
    "negative rate": (["training.learning_rate=-1"], ["training.learning_rate"]),
    "one beta": (["training.betas=[0.9]"], ["training.betas"]),
    "large beta": (["training.betas=[0.9,1.0]"], ["training.betas", "less than 1"]),
    "betas no list": (["training.betas=0.9"], ["training.betas"]),
    "dtype": (["training.dtype=half"], ["training.dtype", "float32"]),
    "compile": (["training.compile=yes"], ["training.compile", "auto"]),
    "width": (["network.width=0"], ["network.width"]),
    "negative precision": (["method.prior_precision=-1"], ["method.prior_precision", "-1"]),
    "text precision": (["method.noise_precision=high"], ["method.noise_precision", "high"]),
    "initial precision": (["method.initial_precision=0"], ["method.initial_precision"]),
    "dropout of one": (["method=mc_dropout", "method.dropout=1"], ["method.dropout"]),
    "noise kind": (
        ["method=mc_dropout", "method.noise=foo"], ["method.noise", "dropconnect", "foo"],
    ),
    "curvature": (
        ["method=practical_vi", "method.curvature=exact"], ["method.curvature", "gauss_newton"],
    ),
    "practical precision": (
        ["method=practical_vi", "method.initial_precision=-1"], ["method.initial_precision", "-1"],
    ),
    "initial curvature": (
        ["method=ivon", "method.initial_curvature=0"], ["method.initial_curvature", "0"],
    ),
    "drift": (["method=svgd", "method.drift=away"], ["method.drift", "kde_wgd", "away"]),
    "a precision in words": (
        ["method=svgd", "method.noise_precision=known"], ["method.noise_precision", "learnt"],
    ),
    "square root": (["method=vprop", "method.square_root=maybe"], ["method.square_root", "maybe"]),
    "minibatch weights": (
        ["method=bbb", "method.minibatch_weights=even"], ["method.minibatch_weights", "uniform"],
    ),
    "prior update": (["method=pbp", "method.prior_update=foo"], ["method.prior_update", "adf"]),
    "batch of none": (["method=pbp", "method.batch_size=0"], ["method.batch_size", "0"]),
    "figures": (["figures=svg"], ["figures must be one of png, pdf, both"]),
    "Robbins-Monro": (["method=sgld", "method.step_decay=0.5"], ["method.step_decay", "0.5"]),
    "friction": (["method=sghmc", "method.friction=1"], ["method.friction", "1"]),
    "members": (["method=deep_ensemble", "method.members=0"], ["method.members", "0"]),
    "adversarial": (
        ["method=deep_ensemble", "method.adversarial=often"], ["method.adversarial", "often"],
    ),
    "adversarial step": (
        ["method=deep_ensemble", "method.adversarial_step=0"], ["method.adversarial_step", "0"],
    ),
    "curvature of laplace": (
        ["method=laplace", "method.curvature=exact"], ["method.curvature", "kronecker", "exact"],
    ),
    "last layer": (["method=laplace", "method.last_layer=no way"], ["method.last_layer", "no way"]),
    "predictive": (
        ["method=laplace", "method.predictive=probit"], ["method.predictive", "linearised"],
    ),
    "prior precision by": (
        ["method=laplace", "method.prior_precision_by=taste"],
        ["method.prior_precision_by", "marginal_likelihood", "taste"],
    ),
    "initial prior precision": (
        ["method=laplace", "method.initial_prior_precision=0"],
        ["method.initial_prior_precision", "0"],
    ),
    "two masters of a prior precision": (
        ["method=laplace", "method.prior_precision_by=marginal_likelihood",
         "method.prior_precision=2"],
        ["method.prior_precision=2", "marginal_likelihood"],
    ),
    "full matrix of a large network": (
        ["method=laplace", "method.curvature=full", "depth=2"],
        ["method.curvature=full", "2000", "3151", "kronecker", "method.last_layer"],
    ),
    "full matrix of a wide last layer": (
        ["method=laplace", "method.curvature=full", "method.last_layer=true",
         "network.width=2000"],
        ["method.curvature=full", "2001"],
    ),
    "noise precision of a network that predicts it": (
        ["likelihood=heteroscedastic", "method.noise_precision=3"],
        ["method.noise_precision=3", "likelihood=heteroscedastic"],
    ),
    "likelihood of pbp": (["method=pbp", "likelihood=heteroscedastic"], ["likelihood", "pbp"]),
    "loss of pbp": (["method=pbp", "loss=gamma"], ["loss=gamma", "method=pbp", "loss=nll"]),
    "prior of a point estimate": (
        ["method=map", "prior=laplace"], ["prior=laplace", "method=map", "use method=bbb"],
    ),
    "beta": (["loss=beta", "loss.beta=1"], ["loss.beta", "greater than 1"]),
    "gamma": (["loss=gamma", "loss.gamma=wide"], ["loss.gamma", "wide"]),
    "added loss setting": (["loss=beta", "+loss.speed=3"], ["loss.speed", "beta"]),
    "seed": (["seed=x"], ["seed", "x"]),
    "negative seed": (["seed=-1"], ["seed", "-1"]),
    "splits": (["splits=99"], ["splits", "20"]),
    "a split twice": (["splits=[0,0]"], ["splits", "once"]),
    "split list": (["splits=[0,20]"], ["splits", "0 to 19"]),
    "workers": (["workers=0"], ["workers", "auto"]),
    "too many workers": (["workers=100000"], ["workers", "auto"]),
    "iterations": (["search.iterations=0"], ["search.iterations"]),
    "initial points": (["search.initial_points=31"], ["search.initial_points", "30"]),
    "folds": (["search.folds=1"], ["search.folds"]),
    "too many folds": (["search.folds=1000"], ["search.folds", "398"]),
    "no values": (["search=none"], ["method.noise_precision=VALUE"]),
    "no values, shortened": (["protocol=trial", "search=none"], ["method.noise_precision=VALUE"]),
    "a label that leaves the folder": (["method.label=../evil"], ["method.label", "'../evil'"]),
    "a hidden label": (["experiment.label=.x"], ["experiment.label", "dot"]),
    "no label": (["method.label=null"], ["method.label", "None"]),
    "an empty label": (["divergence.label="], ["divergence.label", "''"]),
    "a long label": (["method.label=" + "x" * 300], ["method.label"]),
    "a long loss": (["loss.label=" + "x" * 101], ["loss.label", "100"]),
    "a name with a slash": (["dataset.name=a/b"], ["dataset.name", "'a/b'"]),
    "no folder": (["outputs_dir=null"], ["outputs_dir", "folder"]),
    "no folder of a sweep": (["-m", "seed=0,1", "outputs_dir=null"], ["outputs_dir", "folder"]),
    "an empty folder": (["outputs_dir="], ["outputs_dir", "folder"]),
    "a list of folders": (["outputs_dir=[a]"], ["outputs_dir=./[a]"]),
    "a long folder": (["outputs_dir=a/" + "x" * 300], ["outputs_dir", "too long"]),
    "no data folder": (["data_dir="], ["data_dir", "folder"]),
    "no settings": (["network=null"], ["network", "group of settings"]),
    "no bounds": (["dataset.protocol.bounds=text"], ["dataset.protocol.bounds", "settings"]),
    "no prior": (["method=bbb", "divergence.prior=text"], ["divergence.prior", "a Prior"]),
    "no features": (["dataset=boston", "dataset.features=5"], ["dataset.features", "list"]),
    "no settings that others use": (["training=null"], ["training must be a group of settings"]),
    "no class": (["method._target_=bnnbench.methods"], ["method._target_", "no class"]),
    "another class": (["search._target_=collections.Counter"], ["search._target_", "@dataclass"]),
    "no experiment": (["experiment._target_=bnnbench.settings.Network"], ["Experiment"]),
    "device": (["device=tpu"], ["device=tpu", "cpu"]),
    "evaluation": (["evaluation.samples=0"], ["evaluation.samples"]),
    "bounds": (["dataset.protocol.bounds.noise_precision=[3,2]"], ["bounds.noise_precision"]),
    "endless bounds": (
        ["dataset.protocol.bounds.noise_precision=[1,inf]"], ["bounds.noise_precision", "finite"],
    ),
    "nowhere bounds": (["dataset.protocol.bounds.noise_precision=[nan,2]"], ["finite"]),
    "no test rows": (["dataset.test_fraction=0.0001"], ["dataset.test_fraction", "none to test"]),
    "no training rows": (["dataset.test_fraction=0.9999"], ["dataset.test_fraction", "0 to train"]),
    "text bounds": (["dataset.protocol.bounds.noise_precision=[a,2]"], ["bounds.noise_precision"]),
    "size": (["dataset.protocol.size=medium"], ["medium"]),
    "csv without path": (["dataset=csv"], ["dataset.path"]),
    "absent csv": (["dataset=csv", "dataset.path=no.csv", "dataset.target=y"], ["no.csv"]),
}  # fmt: skip

GROUPS_OF_NOTHING = {
    f"no {group}": ([f"{group}=null"], [f"{group}=null does not exist"]) for group in GROUPS
}

TABLES = {
    "missing column": ("a,b,y\n" + ROWS, "price", ["price", "a, b, y"]),
    "text": ("a,b,y\n" + ROWS + "1,green,2\n", "y", ["b", "green"]),
    "gap": ("a,b,y\n" + ROWS + "1,,2\n", "y", ["b"]),
    "three rows": ("a,b,y\n1,2,3\n2,3,4\n3,4,6\n", "y", ["too few rows", "holds 3"]),
    "constant target": ("a,b,y\n" + "".join(f"{i},{i % 7},5\n" for i in range(30)), "y", ["y"]),
}


@pytest.mark.parametrize("name", (*MISTAKES, *GROUPS_OF_NOTHING))
def test_a_mistake_is_one_sentence_and_writes_nothing(command: Command, name: str) -> None:
    overrides, words = {**MISTAKES, **GROUPS_OF_NOTHING}[name]
    small = ["training.epochs=1", "splits=1"]  # so that a mistake let through is soon over
    one_sentence(*command("run", *small, *overrides), words)
    assert list(Path().iterdir()) == []


METHOD = "_target_: {}\nlabel: mine\n"

FILES = {
    "broken YAML": ("_target_: x.y\n  label: [\n", "", ["mine.yaml, line 2", "no YAML"]),
    "a tab": ("\tlabel: x\n", "", ["mine.yaml, line 1"]),
    "a key twice": ("label: 1\nlabel: 2\n", "", ["mine.yaml, line 2", "duplicate key label"]),
    "a list": ("- a\n", "", ["method must be a group of settings"]),
    "an absent parent": ("defaults: [none]\n", "", ["method/mine", "method/none"]),
    "parents that are none": ("defaults: 3\n", "", ["method/mine", "defaults"]),
    "no target": ("label: mine\n", "", ["method._target_ is missing"]),
    "an absent module": (METHOD.format("nowhere.Mine"), "", ["no class", "nowhere.Mine"]),
    "an absent class": (METHOD.format("broken_module.Mine"), "", ["no class", "broken_module"]),
    "wrong syntax": (METHOD.format("broken_module.Mine"), "x = (\n", ["broken_module.py, line 1"]),
    "an error": (
        METHOD.format("broken_module.Mine"), "\nx = 1 / 0\n",
        ["broken_module.py, line 2", "division by zero"],
    ),
    "an absent import": (
        METHOD.format("broken_module.Mine"), "import nowhere\n",
        ["broken_module.py, line 1", "No module named 'nowhere'"],
    ),
    "no dataclass": (
        METHOD.format("broken_module.Mine"), "class Mine:\n    label: str\n",
        ["method._target_", "put @dataclass above"],
    ),
    "no method": (
        METHOD.format("broken_module.Mine"),
        "from dataclasses import dataclass\n@dataclass\nclass Mine:\n    label: str\n",
        ["method must be a Method, not Mine"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_what_is_wrong_with_own_files_is_named(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, module, words = FILES[name]
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "mine.yaml").write_text(text)
    (tmp_path / "broken_module.py").write_text(module)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    small = ["training.epochs=1", "training.final_epochs=1", "training.samples=1"]
    outcome = command("run", "--config-dir", str(tmp_path), "method=mine", *small)
    one_sentence(*outcome, words)
    sys.modules.pop("broken_module", None)
    assert list(Path().iterdir()) == []


def test_a_file_of_ones_own_that_is_no_text(command: Command, tmp_path: Path) -> None:
    (tmp_path / "method").mkdir()
    (tmp_path / "method" / "mine.yaml").write_bytes("label: Größe\n".encode("latin-1"))
    outcome = command("run", "--config-dir", str(tmp_path), "method=mine")
    one_sentence(*outcome, ["method/mine.yaml is not UTF-8 text: byte 0xf6"])


def test_a_folder_that_was_deleted(command: Command) -> None:
    Path.cwd().rmdir()
    one_sentence(*command("run"), ["deleted"])


@pytest.mark.usefixtures("undrawn")
def test_a_run_that_diverged_everywhere_fails_after_its_table(
    command: Command, table_csv: Path
) -> None:
    table = [*TABLE_ARGUMENTS, f"dataset.path={table_csv}", *TINY, "workers=1"]
    code, out, errors = command("run", *table, "training.learning_rate=1e300")
    assert code == 1 and "results: " in out
    assert errors.strip().splitlines()[-1].startswith("bnnbench: the run diverged on every split")


@pytest.mark.parametrize("name", TABLES)
def test_a_bad_table_is_named(command: Command, tmp_path: Path, name: str) -> None:
    text, target, words = TABLES[name]
    arguments = ["dataset=csv", bad_table(tmp_path, text), f"dataset.target={target}"]
    one_sentence(*command("run", *arguments), words)
    assert list(Path().iterdir()) == []


def test_an_unwritable_output_folder(command: Command, table_csv: Path) -> None:
    blocked = Path("file")
    blocked.write_text("in the way")
    table = [*TABLE_ARGUMENTS, f"dataset.path={table_csv}"]
    outcome = command("run", *table, *TINY, f"outputs_dir={blocked / 'out'}")
    one_sentence(*outcome, ["outputs_dir", "file"])


def test_cuda_asked_for_and_absent(command: Command) -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    one_sentence(*command("run", "device=cuda"), ["device=cuda", "device=cpu"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["report", "nowhere"], ["nowhere"]), (["list", "methots"], ["methods"]),
     (["data", "verify", "mars"], ["mars", "boston"]), (["frobnicate"], ["frobnicate", "report"]),
     (["method=bbb"], ["bnnbench run method=bbb"]),
     (["reproduce", "seed=1"], ["bnnbench reproduce small seed=1"]),
     (["report", "--error", "sd"], ["--error", "stderr"])],
)  # fmt: skip
def test_mistakes_in_the_other_commands(
    command: Command, arguments: list[str], words: list[str]
) -> None:
    one_sentence(*command(*arguments), words)
