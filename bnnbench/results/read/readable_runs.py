"""Leave out runs whose damage is noticed only when their files are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

import pandas as pd

from bnnbench.experiment.store.stored_files import DamagedRun, unusable_run_error
from bnnbench.results.read.run_filter import with_tables
from bnnbench.results.read.run_tables import Runs, all_damaged_error, matching_rows
from bnnbench.types import UserError

T = TypeVar("T")


def use_readable(
    runs: Runs, use: Callable[[Runs], T], probe: Callable[[Runs], object] | None = None
) -> tuple[Runs, T]:
    """Call a function with the runs, without those that it cannot use.

    No reader checks all that the sections of a report and the pages of suites expect of a run. If
    the function fails, it is called with each run alone, and the runs that fail are left out.

    Args:
        runs: the runs.
        use: the function; it may be called several times.
        probe: a function that fails for the same runs, by default the same one.

    Returns:
        The runs that were used, and the result.

    Raises:
        UserError: if all runs are damaged.
        Exception: raised by the function without those runs, too.
    """
    try:
        return runs, use(runs)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        if isinstance(error, UserError) and not isinstance(error, DamagedRun):
            raise
        errors = dict(_errors_of_each(runs, probe or use))
        if isinstance(error, DamagedRun):
            named = [run for run, folder in runs.folders.items() if folder.root == error.root]
            errors |= dict.fromkeys(named, error)
        if not errors:
            raise
    return use_readable(_leave_out(runs, errors), use, probe)


def _errors_of_each(
    runs: Runs, probe: Callable[[Runs], object]
) -> Iterator[tuple[str, DamagedRun]]:
    """Call the function with each run alone, and yield the digest and error of each failure."""
    for run, folder in runs.folders.items():
        try:
            probe(with_tables(runs, _rows(runs, {run})))
        except DamagedRun as error:
            yield run, error
        except (MemoryError, OSError):
            raise
        except UserError:  # such as too few runs
            pass
        except Exception as error:
            yield run, unusable_run_error(folder.root, error)


def _leave_out(runs: Runs, errors: Mapping[str, DamagedRun]) -> Runs:
    """Return the other runs; `UserError` if there are none."""
    rest = _rows(runs, {*runs.folders} - {*errors})
    if not rest:
        raise all_damaged_error([*errors.values()])
    return replace(with_tables(runs, rest), skipped=(*runs.skipped, *map(str, errors.values())))


def _rows(runs: Runs, digests: set[str]) -> dict[str, pd.DataFrame]:
    """Return the rows of some runs, by kind of experiment."""
    return matching_rows(runs.tables, lambda table: table[table.index.isin(digests)])
