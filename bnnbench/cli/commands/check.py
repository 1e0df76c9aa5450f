"""`bnnbench check`: tests a method, a divergence or a data set against its contract."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from bnnbench.discovery import use_config_dir
from bnnbench.notes import print_folded, status_message
from bnnbench.types import UserError

if TYPE_CHECKING:
    from bnnbench.checking.subjects import Subject

CHECKED_GROUPS = ("method", "dataset", "divergence")

INDENT = 11
"""Of a failure below the name of its check."""

SUMMARY = "test a method, divergence or data set of your own"

DESCRIPTION = """\
Test that a method, a divergence or a data set satisfies the contract that every run relies on. One
line is printed for each test; if it fails, also the reason and what to write instead.

  bnnbench check method=mine                  a method of your own
  bnnbench check method=mine likelihood=heteroscedastic method.momentum=0.5
  bnnbench check dataset=mine                 reading, disjoint splits, finite values
  bnnbench check divergence=mine              gradients, minimum, training
  bnnbench check method=mine,vadam            one after the other
  bnnbench check method=mine --config-dir DIR

A method is fitted to three small training sets in one stack, in float64 on the CPU, so that
rounding hides no difference. Its output must have the right shapes; a fit in float32, with native
code if a run uses it, must give the same predictions;
a replica must not depend on the other replicas, on padding or on the test set; divergence must be
reported without raising; every hyper-parameter must have an effect; training must reduce the error.

`bnnbench new method mine` writes a method to start from (docs/tutorials/your_own_method.md). Data
sets and divergences consist of the same files (docs/how_to/extend.md).

Exit code 0: all tests pass; 1: at least one fails.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "settings",
        nargs="+",
        metavar="KEY=VALUE",
        help="method=NAME, dataset=NAME or divergence=NAME, and settings of `bnnbench run`",
    )
    parser.add_argument("--config-dir", metavar="DIR", help="a folder with your own YAML files")


def run(arguments: Namespace) -> int:
    """Run all tests and print their results.

    Returns:
        0 if all pass, else 1.

    Raises:
        UserError: if the settings name nothing to check, or it cannot be instantiated.
    """
    groups = [
        g for g in CHECKED_GROUPS if any(word.startswith(f"{g}=") for word in arguments.settings)
    ]
    if not groups:
        raise UserError(
            f"nothing to check: give {' or '.join(f'{group}=NAME' for group in CHECKED_GROUPS)}; "
            "see `bnnbench check --help`.",
            "KEY=VALUE",
        )
    use_config_dir(arguments.config_dir)
    with status_message(f"composing {' '.join(arguments.settings)}"):
        from bnnbench.checking.subjects import make_subject
        from bnnbench.config.compose import sweep_jobs

        jobs = sweep_jobs(arguments.settings, config_dir=arguments.config_dir)
        configs = [job.resolved() for job in jobs]
    failed, checked = False, []
    for config in configs:
        for group in groups:
            if config.get(group) in checked:
                continue
            checked.append(config.get(group))
            with status_message(f"preparing {group}"):
                subject = make_subject(group, config)
            label = config[group].get("label", config[group].get("name"))
            failed |= not _show(f"{group}={label}", subject)
    return int(failed)


def _show(name: str, subject: Subject) -> bool:
    """Print the results of a subject and return whether all tests passed."""
    print_folded(f"{name}, {subject.cls.__name__} of {inspect.getfile(subject.cls)}", 2)
    for text in subject.notes:
        print_folded(f"  {text}.", 2)
    found = []
    for result in subject.results:
        found.append(result)
        word = "skipped" if not result.was_run else "FAILS" if result.failure else "holds"
        print_folded(f"  {word:7}  {result.name}", INDENT)
        for text in filter(None, (result.failure, result.advice)):
            print_folded(f"{' ' * INDENT}{text.rstrip('.')}.", INDENT)
    holding = sum(result.was_run and not result.failure for result in found)
    whole = holding == len(found)
    print(f"all {holding} hold" if whole else f"{holding} of {len(found)} hold")
    return whole
