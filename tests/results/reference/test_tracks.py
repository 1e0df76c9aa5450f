"""The track of a run, and how it was tuned, follow from its settings."""

from __future__ import annotations

from support.config import compose

from bnnbench.config.assemble import build
from bnnbench.results.reference.results import read_reference_results
from bnnbench.results.reference.tracks import fits_of, protocol_of, track_of, tuning_of
from bnnbench.results.settings import flatten

PRECISIONS = ("method.prior_precision=2", "method.noise_precision=5")

CASES = {
    ("method=vadam",): ("folds", "book", 151),
    ("method=hmc",): ("evidence", "book", 1),
    ("method=laplace_evidence",): ("evidence", "book", 1),
    ("method=last_layer",): ("folds", "book", 151),
    ("method=laplace_evidence", "network.width=7"): ("evidence", "free", 1),
    ("method=pbp_200",): ("evidence", "book", 1),
    ("method=mc_dropout", "training.final_epochs=7", "method.noise=gaussian"): (
        "folds",
        "book",
        151,
    ),
    ("method=vadam", "method.noise_precision=5"): ("folds", "free", 151),
    ("method=linear", "network.width=7"): ("evidence", "book", 1),
    ("method=tagi_v_2024",): ("authors", "fixed", 1),
    ("method=tagi_2024",): ("folds", "fixed", 151),
    ("method=deep_ensemble_2017",): ("authors", "free", 1),
    ("method=renyi_vi_2016",): ("authors", "fixed", 1),
    ("method=vadam", "network.width=7"): ("folds", "free", 151),
    ("method=hmc", *PRECISIONS): ("none", "posterior", 1),
    ("method=map", "search=none", "training.epochs=7", *PRECISIONS): ("none", "posterior", 1),
}


def test_tracks_tunings_and_fits() -> None:
    protocols: dict[str, set[str]] = {}
    for words, expected in CASES.items():
        record = build(compose("dataset=diabetes", *words)).record
        run = {**record.metadata, "settings": flatten(record.identity)}
        tuning = tuning_of(run)
        track = track_of(run, tuning)
        assert (tuning, track, fits_of(run["settings"])) == expected, words
        protocols.setdefault(track, set()).add(protocol_of(run))
    assert protocols["book"] == protocols["fixed"] and len(protocols["posterior"]) == 1
    assert len(protocols["free"]) == 3
    assert len(protocols["book"] | protocols["posterior"] | protocols["free"]) == 5


def test_the_reference_results_have_the_tracks_of_their_records() -> None:
    for run in read_reference_results().runs.to_dict("records"):
        found = {"tuning": tuning_of(run), "protocol": protocol_of(run)}
        found["track"] = track_of(run, found["tuning"])
        assert found == {name: run[name] for name in found}, (run["method"], run["dataset"])
