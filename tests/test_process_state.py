"""The Python interface leaves the process of the program that calls it as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

STATE = """
import csv, decimal, locale, logging, multiprocessing, os, random, signal, sys, threading, warnings
import numpy as np, pandas as pd, torch
import matplotlib, sklearn

def state():
    half = np.array([np.finfo(float).tiny])
    mask = os.umask(0o22)
    os.umask(mask)
    return {name: str(value) for name, value in {
        "denormals": (half[0] / 2 > 0, float(half[0]) / 2 > 0, torch.from_numpy(half)[0] / 2 > 0),
        "torch": (torch.get_num_threads(), torch.get_default_dtype(), torch.is_grad_enabled(),
                  torch.are_deterministic_algorithms_enabled()),
        "random": (random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2:],
                   torch.random.get_rng_state().tolist()),
        "numpy": (np.geterr(), sorted(np.get_printoptions().items(), key=str)),
        "warnings": (warnings.filters, warnings.showwarning),
        "environment": (sorted(os.environ.items()), os.getcwd(), mask),
        "locale": locale.setlocale(locale.LC_ALL),
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "matplotlib": sorted(dict.items(matplotlib.rcParams), key=str),
        "logging": (logging.root.level, logging.root.handlers, logging.root.manager.disable),
        "modules": sys.path,
        "hooks": (sys.excepthook, sys.displayhook, threading.excepthook),
        "limits": (sys.getrecursionlimit(), csv.field_size_limit(), decimal.getcontext()),
        "start method": multiprocessing.get_start_method(allow_none=True),
        "libraries": (pd.get_option("display.max_rows"), sklearn.get_config()),
    }.items()}

random.seed(1), np.random.seed(2), torch.manual_seed(3)
torch.set_num_threads(3)
torch.set_flush_denormal(FLUSHED)
np.seterr(over="raise", under="warn")
decimal.getcontext().prec = 11
os.environ["LOKY_MAX_CPU_COUNT"] = "none"
matplotlib.rcParams["lines.linewidth"] = 7
warnings.filterwarnings("error", message="mine")
before = state()
"""

CALLS = """
import bnnbench
from bnnbench import BNNRegressor
frame = pd.DataFrame(np.random.RandomState(0).normal(size=(24, 3)), columns=["a", "b", "y"])
frame.to_csv("frame.csv", index=False)

def fit(method="linear", **settings):
    short = {"splits": 2, "protocol": "trial", "workers": 1, "outputs_dir": "out", **settings}
    return bnnbench.fit(frame, target="y", method=method, **short)

def estimate(method="map"):
    return BNNRegressor(method, epochs=1, iterations=1).fit(frame[["a", "b"]], frame["y"])

def failing(error):
    import bnnbench.experiment.split_experiment as module
    def raising(*arguments, **names):
        assert torch.get_num_threads() == 1
        raise error
    module.SplitExperiment.run_group = raising
    try:
        fit(seed=9)
    except type(error) as found:
        assert found is error
    else:
        raise AssertionError

differences = {}
def call(name, function):
    found = function()
    after = state()
    differences[name] = [key for key in before if before[key] != after[key]]
    return found
"""

END = """
import json
print("\\n" + json.dumps(differences))
"""


def differences(calls: str, folder: Path, flushed: bool = False) -> dict[str, list[str]]:
    """Return what differs after each `call` of a program in a process of its own."""
    program = STATE.replace("FLUSHED", str(flushed)) + CALLS + calls + END
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return found


PROGRAMS = {
    "fits": """
run = call("fit", fit)
call("a fit of another method", lambda: fit("map"))
call("fit in worker processes", lambda: fit("map", seed=1, workers=2))
call("predict", lambda: run.predict(frame))
call("predict with calibration", lambda: run.predict(frame, calibrate="isotonic"))
call("next_rows", lambda: run.next_rows(frame, 2))
call("figure", lambda: run.figure("splits"))
call("load_run", lambda: bnnbench.load_run(run.folder.root))
call("load_table", lambda: bnnbench.load_table("csv", "dataset.path=frame.csv", "dataset.target=y"))
call("tables", lambda: (run.summary, run.search, run.predictions))
""",
    "estimators": """
fitted = call("fit", estimate)
call("fit of another method", lambda: estimate("linear"))
call("predict", lambda: fitted.predict(frame[["a", "b"]], return_std=True))
call("reference", bnnbench.reference)
""",
    "errors": """
call("wrong table", lambda: failing(bnnbench.types.UserError("wrong")))
call("a mistake", lambda: failing(ZeroDivisionError()))
call("interruption", lambda: failing(KeyboardInterrupt()))
call("exit", lambda: failing(SystemExit(3)))
""",
}


@pytest.mark.ci
@pytest.mark.parametrize("flushed", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_calls_change_nothing(program: str, flushed: bool, tmp_path: Path) -> None:
    found = differences(PROGRAMS[program], tmp_path, flushed)
    assert found and not any(found.values())


@pytest.mark.ci
def test_changes_of_the_program_are_found(tmp_path: Path) -> None:
    calls = """
call("threads", lambda: torch.set_num_threads(1))
call("random", lambda: random.random())
call("denormals", lambda: torch.set_flush_denormal(True))
"""
    found = differences(calls, tmp_path)
    assert found["threads"] == ["torch"] and "random" in found["random"]
    assert "denormals" in found["denormals"]


@pytest.mark.ci
def test_fits_in_threads_are_those_of_one_thread(tmp_path: Path) -> None:
    calls = """
from threading import Thread
methods, scores = ["linear", "map", "vadam", "bbb"], {}

def fit_to(folder, method, workers):
    found = fit(method, outputs_dir=folder, workers=workers).splits
    scores[folder, method] = found[["rmse", "log_likelihood"]].to_numpy().tolist()

for workers, folder in ((1, "threads"), (2, "threads with workers")):
    threads = [Thread(target=fit_to, args=(folder, method, workers)) for method in methods]
    call(folder, lambda: ([one.start() for one in threads], [one.join() for one in threads]))
for method in methods:
    fit_to("alone", method, 1)
    assert scores["threads", method] == scores["alone", method]
    assert scores["threads with workers", method] == scores["alone", method]
"""
    found = differences(calls, tmp_path)
    assert len(found) == 2 and not any(found.values())
