"""Malformed command lines: overrides, sweeps and Hydra's own flags."""

from __future__ import annotations

from pathlib import Path

import pytest
from attack.attempt import OutcomeCheck, attempt
from attack.command_lines import command
from attack.sampling import sample
from support.quick import no_figures

LONG = "x" * 300


def one_word(*words: str) -> list[list[str]]:
    return [[word] for word in words]


def several_words(*lines: str) -> list[list[str]]:
    return [line.split() for line in lines]


REFUSED = [
    *one_word(
        *("=1", "=", "seed", "", " ", "seed==1", "training.epochs.epochs=1", "...=1"),
        *("training.=1", "splits=[0", "splits=0]", "training={epochs: 1", "seed='1"),
        *("seed=${seed", "seed=${seed}", "seed=${nowhere:1}", "seed=${oc.env:NO_SUCH_VARIABLE}"),
        *("method=[vadam,bbb]", "method=vadam,bbb", "seed=1,2", "+foo=1", "+dataset=boston"),
        *("++foo=1", "~seed", "~training.epochs", "~method", "~dataset", "~search", "~experiment"),
        *("~nothing", "splits=[0,0]", "splits=-1", "splits=[]", "splits=0.5", "splits=[[0]]"),
        *("depth=-1", "method=null", "dataset=null", "experiment=null", "divergence=null"),
        *("search=null", "method=..", "method=../dataset/csv", "method=/etc/passwd"),
        *("dataset=_base", "experiment=_gvi", "method=Vadam"),
        "dataset.protocol.bounds.noise_precision=[1,inf]",
        "dataset.protocol.bounds.noise_precision=[nan,2]",
        "dataset.protocol.bounds.noise_precision=[2,2]",
        *("dataset.protocol.bounds.noise_precision=[0,2]", "dataset.test_fraction=1e-9"),
        *("dataset.test_fraction=0.9999", "method.label=../../evil", f"method.label={LONG}"),
        *("method.label=", "outputs_dir=null", "outputs_dir=[a]", f"outputs_dir={LONG}"),
        *("outputs_dir='a\x00b'", "outputs_dir=/proc/nowhere", "outputs_dir=/dev/null/x"),
        *("method._target_=os.system", "method._target_=os"),
        *("method._target_=bnnbench.losses.nll.NLL", "method._target_=Vadam"),
        *("divergence._target_=builtins.dict", "hydra.nothing=1", "hydra.mode=SOME"),
        *("hydra/launcher=moon", "hydra/sweeper=moon", "--nothing", "--config-dir"),
        *("seed=\x1b[31m1", "seed=1\n2", "seed=\udcff", "seed=\u202e1", "seed=\uff11"),
        *("seed=0x1F", "choice(1,2)"),
    ),
    *several_words(
        *("--config-dir nowhere", "--config-dir /etc/passwd", "--config-name nowhere"),
        *("--config-path nowhere", "--cfg nothing", "--info nothing"),
        *("--cfg job --package nowhere", "-m seed=range(3,3)", "-m seed=range(3,0)"),
        *("-m seed=range(0,inf)", "-m seed=choice()", "-m training.learning_rate=interval(0,1)"),
        *("-m method=glob(zz*)", "-m method=vadm,bbbb", "-m seed=-1,-2", "-m seed=1,"),
        *("-m seed=,1", "-m method.label=../a,../b"),
    ),
]
"""Arguments that must be refused."""

ACCEPTED = [
    *one_word(
        *("method=vadam.yaml", "--hydra-help", "--version", "hydra.verbose=true"),
        *("hydra.job.name=x", "hydra.job.chdir=true", "-m", "seed='1'", "'seed'='1'", "seed = 1"),
        *("++seed=1", "~evaluation.save_objective=false", "-h", "seed=1.0", "seed=1_000"),
        *("method@method=bbb", "seed=${network.depth}", "method.summary=a+b"),
        *("'method.summary=[bold]x[/]'", "method.summary='[/nothing]'", "method.label=X"),
        *("outputs_dir=outputs/~", "outputs_dir=outputs/a b", "outputs_dir=outputs/a[b]"),
        *("outputs_dir=outputs/a=b", "outputs_dir=outputs/a,b"),
        *("outputs_dir=outputs/Gr\xf6\xdfe-\u65e5\u672c", "outputs_dir=outputs/%s"),
        *("outputs_dir=outputs/{a}", "outputs_dir=outputs/$HOME"),
    ),
    *several_words(
        *("--help seed=1", "--cfg job", "--cfg hydra", "--cfg job --resolve", "--info config"),
        *("--info defaults", "--info plugins", "--info searchpath", "seed=1,2 -m"),
        *("seed=1,2 -m splits=1", "--multirun seed=1", "-m method=vadam,vadm", "-m seed=1,-1"),
        *("-m seed=1,1", "-m seed=choice(1,2)", "-m seed=range(1,3)", "-m splits=[0],[1]"),
        *("seed=1 seed=2", "-- seed=1"),
    ),
]
"""Unusual arguments that may run, print something, or be refused."""

COMMANDS = [
    *one_word(
        *("--help", "--version", "-v", "nothing", "runn", "", "RUN", "list", "data", "report"),
        *("predict", "choose", "compare", "-sc"),
    ),
    *several_words(
        *("run run", "list method", "list methods", "list ../..", "list method nothing"),
        *("list --nothing", "data fetch mars", "data fetch boston --from nowhere"),
        "data fetch boston --from /etc/passwd",
        *("data fetch boston --from /work --dir /dev/null/x", "data verify", "data verify mars"),
        *("data verify --dir nowhere", "data verify --dir /etc/passwd"),
        *("data verify --dir /dev/null/x", "data nothing", "report nowhere", "report /etc/passwd"),
        *("report /dev/null", "report .", "report --error-bars sd", "report --error-bars"),
        *("report --output-dir", "report --output-dir /dev/null/x", "report a b"),
        *("report --refresh nowhere", "predict nowhere", "predict nowhere new.csv"),
        *("predict . /etc/passwd", "predict /etc new.csv", "predict . new.csv --interval nan"),
        *("predict . new.csv --interval 90%", "predict . new.csv -o"),
        *("predict . new.csv extra.csv", "recommend nowhere.csv"),
        *("recommend nowhere.csv --target y", "recommend /etc/passwd --target y"),
        *("recommend /dev/null --target y", "recommend t.csv --target y --methods vadam,,"),
        *("recommend t.csv --target y nonsense", "recommend t.csv --target y method=[vadam]"),
        *("recommend t.csv --target y splits=0", "run --dry-run --dry-run"),
        *("run --dry-run nonsense=1", "run protocol=auto --dry-run dataset=nowhere"),
        *("run -m --dry-run seed=0,-1", "compare nowhere", "compare /etc/passwd"),
        *("compare --rope x", "compare --rope nan", "compare --rope -1", "compare --rope inf"),
        *("compare --metric taste", "compare --nothing", "reproduce nothing"),
        *("reproduce small --nothing", "reproduce small nothing=1 --dry-run"),
        *("reproduce small seed=-1", "reproduce --help", "report --help", "compare --help"),
        *("list --help", "data --help", "data fetch --help", "run --help", "-sc install=bash"),
        "-sc install=nothing",
    ),
    [],
    ["list", ""],
    ["report", ""],
    ["report", LONG],
    ["report", "a\x00b"],
    ["recommend", ".", "--target", ""],
    ["recommend", "t.csv", "--target", "y", "--methods", ""],
    ["compare", LONG],
    ["reproduce", ""],
]
"""Other command lines."""


@pytest.mark.parametrize("words", sample(REFUSED, 8), ids=repr)
def test_nonsense_is_refused(
    check_outcome: OutcomeCheck, table: Path, empty: Path, words: list[str]
) -> None:
    with no_figures():
        check_outcome("grammar", attempt(command(table, (), *words), empty), refuse=True)


@pytest.mark.parametrize("words", sample(ACCEPTED, 4), ids=repr)
def test_unusual_arguments(
    check_outcome: OutcomeCheck, table: Path, empty: Path, words: list[str]
) -> None:
    with no_figures():
        check_outcome("grammar", attempt(command(table, (), *words), empty))


@pytest.mark.parametrize("words", sample(COMMANDS, 8), ids=repr)
def test_other_commands(check_outcome: OutcomeCheck, empty: Path, words: list[str]) -> None:
    check_outcome("commands", attempt(words, empty))
