"""Malformed command lines: overrides, sweeps and flags."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from attack.attempt import OutcomeCheck, attempt
from attack.command_lines import command
from attack.sampling import sample

REFUSED = {
    "only equals": ["="],
    "empty word": [""],
    "a space": [" "],
    "two equals": ["seed==1"],
    "double key": ["training.epochs.epochs=1"],
    "dots": ["...=1"],
    "trailing dot": ["training.=1"],
    "open bracket": ["splits=[0"],
    "closed bracket": ["splits=0]"],
    "open brace": ["training={epochs: 1"],
    "open quote": ["seed='1"],
    "open interpolation": ["seed=${seed"],
    "interpolation of itself": ["seed=${seed}"],
    "unknown resolver": ["seed=${nowhere:1}"],
    "unset environment": ["seed=${oc.env:NO_SUCH_VARIABLE}"],
    "forced key": ["++foo=1"],
    "removed setting": ["~training.epochs"],
    "removed dataset": ["~dataset"],
    "removed search": ["~search"],
    "removed experiment": ["~experiment"],
    "unknown removed": ["~nothing"],
    "splits below zero": ["splits=-1"],
    "no splits": ["splits=[]"],
    "half a split": ["splits=0.5"],
    "list of lists": ["splits=[[0]]"],
    "null group": ["method=null"],
    "folder of a group": ["method=.."],
    "path of a group": ["method=../dataset/csv"],
    "absolute path of a group": ["method=/etc/passwd"],
    "private option": ["dataset=_base"],
    "equal bounds": ["dataset.protocol.bounds.noise_precision=[2,2]"],
    "bounds of zero": ["dataset.protocol.bounds.noise_precision=[0,2]"],
    "empty label": ["method.label="],
    "outputs with a null byte": ["outputs_dir='a\0b'"],
    "outputs in /proc": ["outputs_dir=/proc/nowhere"],
    "outputs on a device": ["outputs_dir=/dev/null/x"],
    "target of a function": ["method._target_=os.system"],
    "target of a module": ["method._target_=os"],
    "target of another group": ["method._target_=bnnbench.losses.nll.NLL"],
    "target without module": ["method._target_=Vadam"],
    "target of a divergence": ["divergence._target_=builtins.dict"],
    "removed setting of hydra": ["~hydra.sweeper"],
    "section of hydra": ["hydra=null"],
    "setting of hydra after a space": [" hydra.mode = RUN"],
    "unknown flag": ["--nothing"],
    "flag without value": ["--config-dir"],
    "config dir that is a file": ["--config-dir", "/etc/passwd"],
    "unknown --cfg": ["--cfg", "nothing"],
    "control characters": ["seed=\x1b[31m1"],
    "a right-to-left mark": ["seed=\u202e1"],
    "a full-width digit": ["seed=\uff11"],
    "hexadecimal": ["seed=0x1F"],
    "choice of a key": ["choice(1,2)"],
    "range of nothing": ["-m", "seed=range(3,3)"],
    "empty choice": ["-m", "seed=choice()"],
    "sweep of an unknown method": ["-m", "method=vadm,bbbb"],
    "sweep with a trailing comma": ["-m", "seed=1,"],
    "sweep with a leading comma": ["-m", "seed=,1"],
    "swept labels outside": ["-m", "method.label=../a,../b"],
}
"""Arguments that must be refused, besides those of tests/config/test_mistakes.py."""

ACCEPTED = {
    "yaml suffix": ["method=vadam.yaml"],
    "help in the middle": ["--help", "seed=1"],
    "cfg": ["--cfg", "job"],
    "cfg resolved": ["--cfg", "job", "--resolve"],
    "version": ["--version"],
    "-m at the end": ["seed=1,2", "-m"],
    "-m in the middle": ["seed=1,2", "-m", "splits=1"],
    "--multirun of one": ["--multirun", "seed=1"],
    "-m of nothing": ["-m"],
    "sweep of one wrong": ["-m", "method=vadam,vadm"],
    "sweep where one is refused": ["-m", "seed=1,-1"],
    "sweep of the same": ["-m", "seed=1,1"],
    "sweep through choice": ["-m", "seed=choice(1,2)"],
    "sweep through range": ["-m", "seed=range(1,3)"],
    "sweep of lists": ["-m", "splits=[0],[1]"],
    "quoted value": ["seed='1'"],
    "quoted twice": ["'seed'='1'"],
    "spaces": ["seed = 1"],
    "seed twice": ["seed=1", "seed=2"],
    "forced seed": ["++seed=1"],
    "removed with the right value": ["~evaluation.save_objective=false"],
    "double dash": ["--", "seed=1"],
    "short help": ["-h"],
    "float seed": ["seed=1.0"],
    "underscored seed": ["seed=1_000"],
    "option by its class": ["method@method=bbb"],
    "interpolation": ["seed=${network.depth}"],
    "sum of strings": ["method.label=a+b"],
    "summary in markup": ["'method.label=[bold]x[/]'"],
    "summary of brackets": ["method.label='[/nothing]'"],
    "label in capitals": ["method.label=X"],
    "home as outputs": ["outputs_dir=outputs/~"],
    "outputs with a space": ["outputs_dir=outputs/a b"],
    "outputs with brackets": ["outputs_dir=outputs/a[b]"],
    "outputs with equals": ["outputs_dir=outputs/a=b"],
    "outputs with a comma": ["outputs_dir=outputs/a,b"],
    "outputs with unicode": ["outputs_dir=outputs/Größe-日本"],
    "outputs with a per cent": ["outputs_dir=outputs/%s"],
    "outputs with braces": ["outputs_dir=outputs/{a}"],
    "outputs with a dollar": ["outputs_dir=outputs/$HOME"],
}
"""Unusual arguments that may run, print something, or be refused."""

WORDS = {
    "": "| --help | --version | -v | nothing | runn | '' | RUN | choose",
    "run": "run | --dry-run --dry-run | --dry-run nonsense=1 | -m --dry-run seed=0,-1 | --help "
    "| protocol=auto --dry-run dataset=nowhere",
    "list": "| method | methods | '' | ../.. | method nothing | --nothing | --help",
    "data": "| nothing | --help | fetch --help | fetch mars | fetch boston --from nowhere "
    "| fetch boston --from /etc/passwd | fetch boston --from /work --dir /dev/null/x | verify "
    "| verify mars | verify --dir nowhere | verify --dir /etc/passwd | verify --dir /dev/null/x",
    "report": f"| nowhere | '' | /etc/passwd | /dev/null | {'x' * 300} | a\0b | . | a b | --help "
    "| --error-bars sd | --error-bars | --output-dir | --output-dir /dev/null/x "
    "| --refresh nowhere",
    "predict": "| nowhere | nowhere new.csv | . /etc/passwd | /etc new.csv "
    "| . new.csv --interval nan | . new.csv --interval 90% | . new.csv -o | . new.csv extra.csv",
    "recommend": "nowhere.csv | nowhere.csv --target y | /etc/passwd --target y "
    "| /dev/null --target y | . --target '' | t.csv --target y --methods '' "
    "| t.csv --target y --methods vadam,, | t.csv --target y nonsense "
    "| t.csv --target y method=[vadam] | t.csv --target y splits=0",
    "compare": f"| nowhere | /etc/passwd | --rope x | --rope nan | --rope -1 | --rope inf | --help "
    f"| --metric taste | --nothing | {'x' * 300}",
    "reproduce": "nothing | '' | small --nothing | small nothing=1 --dry-run | small seed=-1 "
    "| --help",
}
"""What follows a command, separated by bars."""

COMMANDS = [
    shlex.split(f"{name} {words}") for name, lines in WORDS.items() for words in lines.split("|")
]


@pytest.mark.parametrize("name", sample(list(REFUSED), 4))
def test_nonsense_is_refused(
    check_outcome: OutcomeCheck, table: Path, empty: Path, name: str
) -> None:
    check_outcome("grammar", attempt(command(table, (), *REFUSED[name]), empty), refuse=True)


@pytest.mark.parametrize("name", sample(list(ACCEPTED), 2))
def test_unusual_arguments(
    check_outcome: OutcomeCheck, table: Path, empty: Path, name: str
) -> None:
    check_outcome("grammar", attempt(command(table, (), *ACCEPTED[name]), empty))


@pytest.mark.parametrize("words", sample(COMMANDS, 8), ids=" ".join)
def test_other_commands(check_outcome: OutcomeCheck, empty: Path, words: list[str]) -> None:
    check_outcome("commands", attempt(words, empty))
