"""`bnnbench check`: whether a method, a divergence or a data set keeps its contract."""

from __future__ import annotations

import inspect
import math
from argparse import RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.cli.waiting import announced
from bnnbench.types import Redundant, UserError

if TYPE_CHECKING:
    from bnnbench.checking.verdicts import Verdict
    from bnnbench.methods.shared.contract import Method

HELP = """\
Check that a method, a divergence or a data set does what every run relies on, before you believe
a number of it: a line for each clause of its contract, and what is wrong where one does not hold.

  bnnbench check method=mine                  yours, found as `bnnbench run` finds it
  bnnbench check method=mine likelihood=heteroscedastic method.momentum=0.5
  bnnbench check dataset=mine                 it is read, splits apart, nothing infinite
  bnnbench check divergence=mine              its slopes, its least point, its part in training
  bnnbench check method=mine,vadam            one after the other
  bnnbench check method=mine --config-dir DIR

A method is fitted to three small training sets at once: shapes are right; one replica never changes
another, nor does its own seed, padding, or what stands in the test part; what diverges is reported
and raises nothing; every hyper-parameter takes part; training lowers the error.

Three files make a method yours, in any folder: an empty bnnbench.toml, mine.py with a class, and
configs/method/mine.yaml, which says `_target_: mine.NameOfTheClass` and `label: mine` (a whole one
to copy is in docs/your_own_method.md). Data sets and divergences go the same way.

Ends with 0 if everything holds, with 1 if something does not.
"""


def add_parser(commands: Any) -> None:
    """Adds `bnnbench check KEY=VALUE ...`."""
    parser = commands.add_parser(
        "check",
        help="check that a method, divergence or data set keeps its contract",
        description=HELP,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "settings",
        nargs="+",
        metavar="KEY=VALUE",
        help="method=NAME, dataset=NAME or divergence=NAME, and any setting of `bnnbench run`",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="a folder with YAMLs of your own")
    parser.set_defaults(run=lambda given: check_command(given.settings, given.config_dir))


def check_command(words: Sequence[str], own: str | None = None) -> int:
    """Prints what comes of every check.

    Args:
        words: settings as of `bnnbench run -m`.
        own: a folder of configurations.

    Returns:
        0 if all hold, else 1.

    Raises:
        UserError: if nothing is named that can be checked, or it cannot be made.
    """
    named = [group for group in SUBJECTS if any(word.startswith(f"{group}=") for word in words)]
    if not named:
        raise UserError(
            f"name what to check: {' or '.join(f'{group}=NAME' for group in SUBJECTS)}; "
            "see `bnnbench check --help`."
        )
    with announced(f"composing {' '.join(words)}"):
        configs = _configs(words, own)
    failed, shown = False, []
    for config in configs:
        for group in named:
            if config[group] in shown:
                continue
            shown.append(config[group])
            with announced(f"making {group}={_label(config[group])}"):
                subject = SUBJECTS[group](config)
            failed |= not _show(f"{group}={_label(config[group])}", subject)
    return int(failed)


def _configs(words: Sequence[str], own: str | None) -> list[dict[str, Any]]:
    from bnnbench.cli.line import configs_of
    from bnnbench.project import make_importable

    if own is not None:
        if not Path(own).is_dir():
            raise UserError(f"--config-dir must name a folder, and {own} is none.")
        make_importable([Path(own).resolve(), Path.cwd()])
    return configs_of(words, own=own)


@dataclass(frozen=True)
class Subject:
    """What is checked.

    Attributes:
        cls: its class.
        verdicts: what comes of its checks, as they are made.
    """

    cls: type
    verdicts: Iterator[Verdict]


def _method(config: dict[str, Any]) -> Subject:
    from bnnbench.checking.leakage import LEAKAGE
    from bnnbench.checking.method import METHOD
    from bnnbench.checking.trial import Trial
    from bnnbench.checking.verdicts import verdicts
    from bnnbench.cli.build import offered
    from bnnbench.cli.choices import check_parts
    from bnnbench.methods.shared.contract import Method

    method: Method = _made("method", config, Method)
    with suppress(Redundant):  # a divergence that is checked beside it is not for it
        check_parts(offered(config), type(method))
    bounds = {
        **_protocol(config, "dataset").get("bounds", {}),
        **_protocol(config, "method").get("bounds", {}),
    }
    trial = Trial(method, _tried_values(method, bounds))
    return Subject(type(method), verdicts((*METHOD, LEAKAGE), trial))


def _divergence(config: dict[str, Any]) -> Subject:
    from bnnbench.checking.divergence import DIVERGENCE
    from bnnbench.checking.verdicts import verdicts
    from bnnbench.divergences.base import Divergence

    divergence = _made("divergence", config, Divergence)
    return Subject(type(divergence), verdicts(DIVERGENCE, divergence))


def _data_set(config: dict[str, Any]) -> Subject:
    from bnnbench.checking.data_set import DATA_SET, Reading
    from bnnbench.checking.verdicts import verdicts
    from bnnbench.data import Source

    source = _made("dataset", config, Source)
    return Subject(type(source), verdicts(DATA_SET, Reading(source)))


SUBJECTS: dict[str, Callable[[dict[str, Any]], Subject]] = {
    "method": _method,
    "dataset": _data_set,
    "divergence": _divergence,
}
"""What can be checked, by its group."""


def _made(group: str, config: dict[str, Any], kind: type) -> Any:
    """What a group's settings make.

    Raises:
        UserError: if it cannot be made, or is of another kind.
    """
    from bnnbench.cli.choices import check_groups
    from bnnbench.cli.make import check_kind, make

    check_groups(config)
    made = make(group, {name: v for name, v in config[group].items() if name != "protocol"})
    check_kind(group, made, kind)
    return made


def _protocol(config: dict[str, Any], group: str) -> dict[str, Any]:
    return {key: value or {} for key, value in (config[group].get("protocol") or {}).items()}


def _tried_values(method: Method, bounds: dict[str, list[float]]) -> dict[str, float]:
    """Values of hyper-parameters that ours do not have, amid their bounds; and of those fixed.

    Raises:
        UserError: if one has neither value nor bounds.
    """
    from bnnbench.checking.trial import HYPER

    fixed = method.fixed()
    searched = [name for name in method.hyper_names if name not in (*fixed, *HYPER)]
    for name in searched:
        if name not in bounds:
            raise UserError(
                f"method={method.label} searches {name} and has no bounds for it: "
                f"protocol.bounds of its YAML needs {name}: [LOW, HIGH]."
            )
    return {**fixed, **{name: math.sqrt(math.prod(bounds[name])) for name in searched}}


def _label(config: dict[str, Any]) -> str:
    return str(config.get("label", config.get("name")))


def _show(name: str, subject: Subject) -> bool:
    """Prints a subject's verdicts as they come; whether all hold."""
    print(f"{name}, {subject.cls.__name__} of {inspect.getfile(subject.cls)}")
    found = []
    for verdict in subject.verdicts:
        found.append(verdict)
        word = "untried" if not verdict.tried else "FAILS" if verdict.fault else "holds"
        print(f"  {word:7}  {verdict.name}", flush=True)
        if verdict.fault:
            print(f"           {verdict.fault.rstrip('.')}.")
    holding = sum(verdict.tried and not verdict.fault for verdict in found)
    whole = holding == len(found)
    print(f"all {holding} hold" if whole else f"{holding} of {len(found)} hold")
    return whole
