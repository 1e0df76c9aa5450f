"""Folders of the stored runs on images: `docs/results/images/NAME/IMAGES`.

The name is the kind of experiment, or that of a variant: the same experiment with other settings,
whose run is stored next to the main one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stored_results import RESULTS

from bnnbench.experiment.store.record import read_record
from bnnbench.experiment.store.run_folder import RunFolder
from bnnbench.types import UserError

TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "digits": "Digits"}
"""Titles of the sets of images, in the order of the pages."""


@dataclass(frozen=True)
class Variant:
    """A second run of an experiment.

    Attributes:
        kind: of experiment.
        title: what differs, as pages say it.
        settings: the settings that tell it from the main run.
        figures: names of the figures that pages show.
    """

    kind: str
    title: str
    settings: Mapping[str, Any]
    figures: tuple[str, ...] = ()


VARIANTS: Mapping[str, Variant] = {
    "planar_flows_300": Variant(
        "planar_flows", "300 epochs", {"epochs": 300}, figures=("elbo_by_epoch",)
    ),
    "semi_supervised_labelled": Variant(
        "semi_supervised",
        "epochs over labelled images",
        {"epoch_ends": "labelled"},
        figures=("accuracy_by_labels",),
    ),
}
"""The variants by the name of their folder."""


def kind_of(name: str) -> str:
    """Return the kind of the runs in a folder."""
    return VARIANTS[name].kind if name in VARIANTS else name


def names_of(kind: str) -> list[str]:
    """Return the names of the folders of an experiment: its own and those of its variants."""
    return [kind, *(name for name, variant in VARIANTS.items() if variant.kind == kind)]


def title_of(name: str, images: str) -> str:
    """Return the images of a run and, for a variant, what differs."""
    return ", ".join([TITLES[images], *([VARIANTS[name].title] if name in VARIANTS else [])])


def name_of(kind: str, identity: Mapping[str, Any]) -> str:
    """Return the name of the folder of a run with these settings.

    Raises:
        UserError: if the run has the settings of several variants.
    """
    main, *variants = names_of(kind)
    found = [name for name in variants if VARIANTS[name].settings.items() <= identity.items()]
    if len(found) > 1:
        raise UserError(
            f"the run has the settings of {' and '.join(found)}; add a variant of its own to "
            "docs/tools/image_folders.py, or run it with the settings of one."
        )
    return found[0] if found else main


def folder_of(name: str, images: str) -> RunFolder:
    """Return the folder of a stored run, which has the run's record and tables."""
    return RunFolder(RESULTS / "images" / name / images)


def stored(name: str) -> dict[str, RunFolder]:
    """Return the folders of the stored runs of an experiment or a variant, by their images."""
    folders = {images: folder_of(name, images) for images in TITLES}
    return {images: folder for images, folder in folders.items() if folder.record.exists()}


def all_stored(kind: str) -> Iterator[tuple[str, str, RunFolder]]:
    """Yield name, images and folder of the stored runs of an experiment and its variants."""
    for images in TITLES:
        for name in names_of(kind):
            if images in (runs := stored(name)):
                yield name, images, runs[images]


def check_same_settings(run: RunFolder, target: RunFolder) -> None:
    """Check that a run may replace the one that is stored, if there is one.

    Raises:
        UserError: if they differ in more than the number of repetitions.
    """
    if not target.record.exists():
        return
    own, before = (read_record(folder).identity for folder in (run, target))
    names = [name for name in {**before, **own} if name != "repetitions"]
    if differing := [name for name in names if own.get(name) != before.get(name)]:
        raise UserError(
            f"{run.root} differs from the stored run in {target.root} in {', '.join(differing)}; "
            "add a variant to docs/tools/image_folders.py, or delete the stored run first."
        )
