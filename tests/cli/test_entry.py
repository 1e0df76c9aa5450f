"""The process of the command: threads, environment variables, exit codes, pipes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.quick import slow_except
from support.runs import make_run

pytestmark = pytest.mark.integration

THREADS = "OMP_NUM_THREADS"


def python(text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a new process."""
    inherited = {name: value for name, value in os.environ.items() if name != THREADS}
    command = [sys.executable, "-c", text]
    return subprocess.run(command, capture_output=True, text=True, env={**inherited, **environment})


def bnnbench(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell, with `bnnbench` as the command."""
    here = line.replace("bnnbench", f"{sys.executable} -m bnnbench")
    words = ["bash", "-o", "pipefail", "-c", here]
    return subprocess.run(words, capture_output=True, text=True, cwd=folder)


@pytest.mark.ci
def test_libraries_start_no_threads_by_default() -> None:
    count = (
        "import os, bnnbench.cli.entry, numpy, torch;"
        "numpy.ones((500, 500)) @ numpy.ones((500, 500));"
        "print(os.environ['OMP_NUM_THREADS'], torch.get_num_threads(),"
        " len(os.listdir('/proc/self/task')))"
    )
    if sys.platform == "linux":
        assert python(count).stdout.split() == ["1", "1", "1"]
    chosen = "import os, bnnbench.cli.entry; print(os.environ['OMP_NUM_THREADS'])"
    assert python(chosen, OMP_NUM_THREADS="2").stdout == "2\n"


ENVIRONMENTS = {
    "wrong numbers": "LOKY_MAX_CPU_COUNT=abc SLURM_CPUS_PER_TASK=0 BNNBENCH_MAX_UNPACKED_GB=8GB "
    "COLUMNS=-3 OMP_NUM_THREADS=x",
    "nothing": f"-i PYTHONPATH={os.environ.get('PYTHONPATH', '')}",
    "nonsense": "HOME=/etc/passwd COLUMNS=wide LINES=x TERM=nothing LANG=xx_XX LC_ALL=xx_XX "
    "BNNBENCH_DATA='[a' HYDRA_FULL_ERROR=0 FORCE_COLOR=1 XDG_CONFIG_HOME=relative",
    "nowhere": "HOME=/nowhere TMPDIR=/nowhere XDG_CONFIG_HOME=/nowhere BNNBENCH_DATA=/nowhere",
    "narrow": "COLUMNS=1 LINES=1 TERM=dumb NO_COLOR=1 HOME=/proc BNNBENCH_DATA=",
}
"""Arguments of `env`."""


@pytest.mark.parametrize("name", slow_except(ENVIRONMENTS, "nothing", "nonsense"))
def test_environment_variables_do_not_change_results(tmp_path: Path, name: str) -> None:
    folder = make_run(tmp_path)
    done = bnnbench(f"env {ENVIRONMENTS[name]} bnnbench show {folder.root}", tmp_path)
    assert done.returncode == 0 and "5.0 " in done.stdout, done.stderr
    assert "Traceback" not in done.stderr


def test_the_backend_of_figures_is_ours() -> None:
    import_them = "import bnnbench.cli.entry, matplotlib; print(matplotlib.get_backend())"
    assert python(import_them, MPLBACKEND="nothing").stdout == "agg\n"


def test_exit_handlers_run_and_streams_are_flushed() -> None:
    done = python(
        "import atexit, sys; from bnnbench.cli.entry import leave;"
        "atexit.register(print, 'last');"
        "sys.stdout.write('first '); sys.stderr.write('error'); leave(3); print('never')"
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "first last\n", "error")


def test_other_threads_are_waited_for() -> None:
    done = python(
        "import threading, time; from bnnbench.cli.entry import leave;"
        "threading.Thread(target=lambda: (time.sleep(0.3), print('worked'))).start(); leave(3)"
    )
    assert (done.returncode, done.stdout) == (3, "worked\n")


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("bnnbench lst", 2, "bnnbench: argument COMMAND: invalid choice: 'lst'"),
        ("bnnbench list > /dev/full", 1, "bnnbench: the disk is full"),
        ("bnnbench list method <&- >&-", 0, ""),
        ("bnnbench lst 2>&-", 2, ""),
    ],
)
def test_exit_codes_and_messages(tmp_path: Path, line: str, code: int, said: str) -> None:
    done = bnnbench(line, tmp_path)
    assert done.returncode == code and done.stderr.startswith(said)
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.slow
def test_a_plan_ends_silently_if_its_pipe_is_closed(tmp_path: Path) -> None:
    """Unbuffered, so that the closed pipe is noticed while a job is planned."""
    line = "PYTHONUNBUFFERED=1 bnnbench run --dry-run -m seed=1,2 | true"
    done = bnnbench(line, tmp_path)
    said = [words for words in done.stderr.splitlines() if not words.endswith(" ...")]
    assert (done.returncode, said) == (0, []) and not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_sweep_continues_if_its_pipe_is_closed(tmp_path: Path, table_csv: Path) -> None:
    """The pipe is closed before the first table is printed."""
    small = "search=none method.noise_precision=5 method.prior_precision=1 splits=1 workers=1"
    table = f"dataset=csv dataset.path={table_csv} dataset.target=y training.epochs=1"
    line = f"bnnbench run -m {table} {small} training.final_epochs=1 seed=1,2 outputs_dir=o | true"
    done = bnnbench(line, tmp_path)
    assert done.returncode == 0 and "broken" not in done.stderr.lower(), done.stderr
    assert len([*(tmp_path / "o").rglob("DONE")]) == 2
