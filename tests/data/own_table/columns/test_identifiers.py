"""Columns that number the rows or name groups of rows."""

from __future__ import annotations

import numpy as np
import pytest

from bnnbench.data.own_table.columns.row_labels import group_column, numbers_rows

RNG = np.random.default_rng(0)
COUNT = np.arange(200.0)


@pytest.mark.parametrize(
    ("name", "values", "rows", "numbers"),
    [
        ("Id", COUNT + 1, 200, True),
        ("instant", COUNT, 200, True),
        ("x", RNG.permutation(COUNT) + 1, 200, True),
        ("x", (COUNT + 1)[COUNT % 7 > 0], 200, True),  # rows were dropped
        ("PassengerId", 3 * COUNT + 892, 200, True),
        ("customer key", RNG.permutation(7 * COUNT), 200, True),
        ("order_id", RNG.permutation(900_000)[:200] + 100_000, 200, True),
        ("sample_number", COUNT + 1001, 200, True),
        ("atomic_number", np.arange(1, 95), 94, True),
        ("atomic_number", np.arange(1, 95)[np.arange(94) % 5 > 0], 75, False),
        ("octane_number", RNG.permutation(np.arange(80, 121))[:30], 30, False),
        ("price_index", RNG.permutation(np.arange(900, 1300))[:100], 100, False),
        ("body_mass_index", RNG.permutation(np.arange(180, 400))[:60], 60, False),
        ("wave_number", 400 + 4 * COUNT, 200, False),
        ("no", np.unique(RNG.normal(300, 80, 60).round()), 60, False),
        ("x", 3 * COUNT, 200, False),
        ("year", COUNT + 1820, 200, False),
        ("x", COUNT + 0.5, 200, False),
        ("Id", COUNT // 2, 200, False),
        ("x", np.where(COUNT > 9, COUNT, np.nan), 200, False),
        ("humid", 3 * COUNT, 200, False),
    ],
)
def test_columns_that_number_the_rows(
    name: str, values: np.ndarray, rows: int, numbers: bool
) -> None:
    assert numbers_rows(name, values.astype(float), rows) == numbers


N = 480
Z, NOISE = RNG.normal(size=(2, N))
PLACE, PERSON = RNG.integers(0, 25, N), np.arange(N) // 5
OF_PLACE = RNG.normal(0, 1.5, 25)[PLACE]
AGE = RNG.integers(20, 80, N // 5)[PERSON]
YEARS = RNG.integers(18, 80, N)
HOUR = np.arange(N) % 24
PEAKS = 2 * np.exp(-((HOUR - 8) ** 2) / 8) + 3 * np.exp(-((HOUR - 18) ** 2) / 8)
COUNTS = RNG.geometric(0.08, N)
CODES = RNG.permutation(90_000)[: N // 5] + 10_000


@pytest.mark.parametrize(
    ("columns", "targets", "groups"),
    [
        ({"station": PLACE + 1}, NOISE, {"station": 25}),
        ({"plot": PLACE}, Z + OF_PLACE + NOISE, {"plot": 25}),  # the target depends on it
        ({"nummer": PERSON, "age": AGE}, NOISE, {"nummer": 96}),  # an input does
        ({"probe_key": CODES[PERSON], "age": AGE}, NOISE, {"probe_key": 96}),
        ({"BatchNo": PLACE + 201}, NOISE, {"BatchNo": 25}),
        ({"site": PERSON // 6, "patient": PERSON}, NOISE, {"patient": 96}),
        ({"machineId": PLACE % 12}, NOISE, {"machineId": 12}),
        ({"ID_patient": PERSON}, NOISE, {"ID_patient": 96}),
        ({"batches": PLACE}, NOISE, {"batches": 25}),
        ({"subject code": CODES[PERSON]}, NOISE, {"subject code": 96}),
        ({"site_index": YEARS}, NOISE + 0.1 * YEARS, {}),
        ({"number of patients": PLACE}, NOISE, {}),
        ({"octane_number": 80 + YEARS % 41}, 0.1 * (YEARS % 41) + NOISE, {}),
        ({"device_temperature": YEARS}, NOISE - 0.1 * YEARS, {}),
        ({"station_pressure": (1010 + 8 * Z).round()}, NOISE, {}),
        ({"user_age": YEARS, "band": YEARS // 10}, np.sin(YEARS / 10) + NOISE, {}),
        ({"hour": HOUR}, PEAKS + NOISE, {}),
        ({"year": 1990 + PLACE}, OF_PLACE + NOISE, {}),
        ({"customer_rating": 1 + PLACE % 10}, NOISE, {}),
        ({"visits": RNG.poisson(15, N)}, NOISE, {}),
        ({"age": YEARS}, RNG.pareto(1, N), {}),
        ({"nodes": COUNTS}, 0.3 * COUNTS + NOISE, {}),  # many values are in one row
        ({"station": PLACE + 0.5}, OF_PLACE, {}),
        ({"user_id": np.arange(N) + 1000}, NOISE, {}),
    ],
)
def test_columns_of_groups(
    columns: dict[str, np.ndarray], targets: np.ndarray, groups: dict[str, int]
) -> None:
    inputs = {name: values.astype(float) for name, values in {**columns, "z": Z}.items()}
    assert dict(filter(None, [group_column(inputs, targets)])) == groups
