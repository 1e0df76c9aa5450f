"""The Python interface leaves the process of the program that calls it as it was."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.config import TINY

PROGRAM = """
import json, multiprocessing, os, random, sys, warnings
from concurrent.futures import ThreadPoolExecutor
import numpy as np, pandas as pd, torch

def state():
    tiny = np.array([np.finfo(float).tiny])
    return {name: str(value) for name, value in {
        "denormals": (tiny[0] / 2 > 0, float(tiny[0]) / 2 > 0, torch.from_numpy(tiny)[0] / 2 > 0),
        "threads": torch.get_num_threads(),
        "random": (random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2:],
                   torch.random.get_rng_state().tolist()),
        "numpy": np.geterr(),
        "start method": multiprocessing.get_start_method(allow_none=True),
        "environment": sorted(os.environ.items()),
        "modules": sys.path,
        "filters": warnings.filters,
    }.items()}

differences = {}
def call(name, function):
    before = state()
    found = function()
    after = state()
    differences[name] = [key for key in before if before[key] != after[key]]
    return found

torch.set_num_threads(3)
os.environ["LOKY_MAX_CPU_COUNT"] = "many"
import bnnbench
from bnnbench import BNNRegressor
frame = pd.DataFrame(np.random.RandomState(0).normal(size=(24, 3)), columns=["a", "b", "y"])

def fit(method="linear", **settings):
    short = {"splits": 1, "workers": 1, "outputs_dir": "out", **settings}
    return bnnbench.fit(frame, *TINY, target="y", method=method, **short)

def failing(error):
    import bnnbench.experiment.splits.split_experiment as module
    run_group = module.SplitExperiment.run_group
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
    finally:
        module.SplitExperiment.run_group = run_group

def in_threads():
    with ThreadPoolExecutor(4) as threads:
        runs = threads.map(lambda method: fit(method, outputs_dir="threads"), METHODS)
        return [run.splits[["rmse", "log_likelihood"]].to_numpy().tolist() for run in runs]

METHODS = ["linear", "map", "vadam", "bbb"]
estimator = BNNRegressor("linear")
call("first estimator", lambda: estimator.fit(frame[["a"]], frame["y"]))
call("predictions of an estimator", lambda: estimator.predict(frame[["a"]]))
run = call("fit", fit)
import bnnbench.run_all
bnnbench.run_all._write_pages = lambda runs, say: None
call("another method", lambda: fit("map"))
call("worker processes", lambda: fit("map", seed=1, workers=2))
call("predict", lambda: run.predict(frame))
call("next_rows", lambda: run.next_rows(frame, 2))
call("estimator", lambda: BNNRegressor("map", epochs=1, iterations=1).fit(frame[["a"]], frame["y"]))
call("recommend", lambda: bnnbench.recommend(
    frame, "splits=2", "workers=1", target="y", outputs_dir="out", methods=["linear", "gp"]))
call("table", lambda: bnnbench.load_table("boston"))
call("reference", bnnbench.reference)
call("mistake", lambda: failing(ZeroDivisionError()))
call("interruption", lambda: failing(KeyboardInterrupt()))
scores = call("threads", in_threads)
torch.set_flush_denormal(True)
alone = [fit(method).splits[["rmse", "log_likelihood"]].to_numpy().tolist() for method in METHODS]
assert scores == alone
call("fit with denormals as zero", lambda: fit(seed=2))
call("CHANGED threads", lambda: torch.set_num_threads(1))
call("CHANGED random", random.random)
call("CHANGED denormals", lambda: torch.set_flush_denormal(False))
multiprocessing.set_start_method("spawn")
print("\\n" + json.dumps(differences))
"""


@pytest.mark.ci
def test_calls_change_nothing(tmp_path: Path) -> None:
    program = PROGRAM.replace("*TINY", f"*{[word for word in TINY if 'splits' not in word]}")
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    expected = {name: [name.split()[1]] if "CHANGED" in name else [] for name in found}
    assert found == expected and len(found) == 18
