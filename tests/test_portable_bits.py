"""Runs give the same bits whatever instruction sets they may use.

Each variant runs in a new process, in which native code, torch, BLAS and numpy use other
instructions and vector widths than this machine's best.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pytest

from bnnbench.cpp.library import library
from bnnbench.experiment.store.run_folder import finished_runs
from bnnbench.experiment.store.split_files import MACHINE_COLUMNS, SEARCH, SPLITS

AVX2 = {
    "CXX": "g++ -march=x86-64-v3",
    "ATEN_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
"""At most the instructions of processors without AVX-512."""

MIXED = {
    "CXX": "g++ -march=x86-64-v3 -DFLOATS_PER_LANE=16",
    "ATEN_CPU_CAPABILITY": "default",
    "OPENBLAS_CORETYPE": "Nehalem",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
}
"""Vectors as long as those of AVX-512 in native code, and short ones in libraries."""

PORTABLE = (
    "vadam,vprop,bbb,practical_vi,map,mc_dropout,bb_alpha_dropout,deep_ensemble,sgld,ivon,renyi_vi,"
    "sghmc,svgd,dvi"
)

pytestmark = pytest.mark.skipif(
    library().code is None or sys.platform != "linux" or os.uname().machine != "x86_64",
    reason="needs g++ on x86-64",
)


def tables(folder: Path, variant: Mapping[str, str], *words: str) -> dict[str, pd.DataFrame]:
    """Run the words as a sweep, and return the tables of all runs without times and hardware."""
    command = [sys.executable, "-m", "bnnbench", "run", "-m", *words, f"outputs_dir={folder}"]
    done = subprocess.run(command, env={**os.environ, **variant}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = {}
    for run in finished_runs(folder):
        for name in (SPLITS, SEARCH):
            if run.table(name).exists():
                table = pd.read_csv(run.table(name), dtype=str)
                assert name == SEARCH or set(table["bits"]) == {"program"}
                times = [*MACHINE_COLUMNS, "seconds", "suggest_seconds"]
                found[f"{run.root.name} {name}"] = table.drop(columns=times, errors="ignore")
    return found


def assert_same_bits(folder: Path, *words: str) -> None:
    expected = tables(folder / "best", {}, *words, "workers=2")
    assert expected
    for name, variant in {"avx2": AVX2, "mixed": MIXED}.items():
        found = tables(folder / name, variant, *words, "workers=1")
        assert found.keys() == expected.keys()
        for key, table in expected.items():
            pd.testing.assert_frame_equal(found[key], table)


@pytest.mark.ci
def test_a_search_and_a_fit_have_the_same_bits(tmp_path: Path) -> None:
    assert_same_bits(
        tmp_path, "method=vadam", "dataset=diabetes", "splits=[0,1]", "search.iterations=7",
        "training.epochs=3", "training.final_epochs=3", "evaluation.out_of_fold=false",
    )  # fmt: skip


@pytest.mark.slow
def test_methods_have_the_same_bits_on_four_data_sets(tmp_path: Path) -> None:
    assert_same_bits(
        tmp_path, f"method={PORTABLE}", "dataset=yacht,boston,energy,wine", "splits=[0,1]",
        "search.iterations=12", "training.epochs=5", "training.final_epochs=5",
    )  # fmt: skip


@pytest.mark.slow
def test_pbp_has_the_same_bits_on_all_data_sets(tmp_path: Path) -> None:
    sets = "yacht,boston,energy,wine,concrete,kin8nm,naval,power,protein"
    assert_same_bits(
        tmp_path, "method=pbp", f"dataset={sets}", "splits=[0]", "training.final_epochs=5"
    )  # fmt: skip


@pytest.mark.slow
def test_tagi_has_the_same_bits_on_all_data_sets(tmp_path: Path) -> None:
    sets = "yacht,boston,energy,wine,concrete,kin8nm,naval,power,protein"
    assert_same_bits(
        tmp_path, "method=tagi_2024,tagi_v_gains_2024", f"dataset={sets}", "splits=[0]",
        "training.epochs=5",
    )  # fmt: skip
