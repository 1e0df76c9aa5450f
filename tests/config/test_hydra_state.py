"""A program may use Hydra itself; bnnbench neither changes nor uses its objects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
from concurrent.futures import ThreadPoolExecutor
import hydra
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.singleton import Singleton
from omegaconf import OmegaConf

folder = sys.argv.pop()
def register():
    OmegaConf.register_new_resolver("auto", lambda text: "mine", replace=True)
    OmegaConf.register_new_resolver("double", lambda text: 2 * int(text), replace=True)

register()
ConfigStore.instance().store(group="method", name="vadam", node={"wrong": 1})
ConfigStore.instance().store(name="run", node={"wrong": 1})

def use():
    before = dict(Singleton._instances)
    use_in_thread()
    assert all(Singleton._instances[one] is found for one, found in before.items())

def use_in_thread():
    from bnnbench.config.compose import single_job
    from bnnbench.config.assemble import compose_fit
    config = single_job(["method=vadam", "dataset=diabetes", "protocol=auto"]).resolved()
    assert "wrong" not in config["method"] and config["training"]["epochs"] > 0
    assert compose_fit(["method=linear"], 20)["method"]
    for wrong in ("method=nothing", "seed=${nothing:1}"):
        try:
            single_job([wrong]).resolved()
        except ValueError:
            continue
        raise AssertionError(wrong)

def check():
    assert compose("mine", ["x=4"]).y == 8
    assert OmegaConf.create({"a": "${auto:1}"}).a == "mine"
    store = ConfigStore.instance().repo
    assert "method" in store and "launcher" in store["hydra"]

use()
with initialize_config_dir(folder, version_base="1.3"):
    check(), use(), check()
    with ThreadPoolExecutor(8) as threads:
        [one.result() for one in [threads.submit(use_in_thread) for _ in range(8)]]
    check()
assert not GlobalHydra.instance().is_initialized()
OmegaConf.clear_resolvers()
use()
assert not OmegaConf.has_resolver("auto")
register()
sys.argv[1:] = ["x=5", f"hydra.run.dir={folder}/out"]
@hydra.main(config_path=folder, config_name="mine", version_base="1.3")
def main(config):
    before = HydraConfig.get()
    use(), check(), use(), check()
    assert HydraConfig.get() is before and config.y == 10
    ran.append(1)
ran = []
main()
assert ran
"""


@pytest.mark.ci
def test_a_program_keeps_its_hydra(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("x: 3\ny: ${double:${x}}\n")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
