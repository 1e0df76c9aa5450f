"""What ADF, EP, power EP and black-box alpha leave on one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bnnbench.results.answers import ANSWERS, Answer
from bnnbench.suites.inference_toys.noise_precision import tables as words
from bnnbench.suites.inference_toys.noise_precision.belief import Array, Belief
from bnnbench.suites.inference_toys.noise_precision.black_box_alpha import black_box_alpha
from bnnbench.suites.inference_toys.noise_precision.coordinate_ascent import ascend
from bnnbench.suites.inference_toys.noise_precision.exact import divergence
from bnnbench.suites.inference_toys.noise_precision.message_passing import (
    Rules,
    filtered,
    filtered_again,
    propagate,
    repeated_factor,
)
from bnnbench.suites.inference_toys.noise_precision.moment_matching import (
    Normaliser,
    QuadratureNormaliser,
    gaussian_normaliser,
)
from bnnbench.suites.inference_toys.noise_precision.rows import (
    Named,
    Row,
    Scene,
    Tables,
    densities,
    moment_answers,
    rows_of,
    step_rows,
)

QUOTED = 0.5
"""The power whose answers are quoted: alpha 0, which 3.2.4.2 calls usually the best."""

NORMALISERS: Mapping[str, Normaliser] = {
    words.GAUSSIAN_K: gaussian_normaliser,
    words.EXACT_K: QuadratureNormaliser(),
}


def rules_of(scene: Scene) -> dict[str, Rules]:
    """How ADF and EP include factors, by setting."""
    return {
        setting: Rules(normaliser, scene.reading, scene.with_weight)
        for setting, normaliser in NORMALISERS.items()
    }


def order_rows(named: Named, beliefs: Belief) -> list[Row]:
    """Where each order led, rows of `orders.csv`; the first is that of the data."""
    where = {"approximation": named.approximation, "setting": named.setting}
    return [
        {**where, "order": k, "mean": float(mean), "std": float(std)}
        for k, (mean, std) in enumerate(zip(beliefs.mean, beliefs.std, strict=True))
    ]


def run_answers(scene: Scene, named: Named, refused: int) -> Iterator[Answer]:
    """Of the run in the order of the data."""
    yield from moment_answers(scene, named)
    if scene.with_weight:
        gap = divergence(scene.line, scene.posterior, named.q)  # type: ignore[arg-type]
        yield Answer(words.GAP, named.approximation, gap, named.setting)
    if refused:
        yield Answer(words.REFUSED, named.approximation, float(refused), named.setting)


def spread_of(named: Named, beliefs: Belief) -> Answer:
    """How far the means of the random orders lie apart."""
    means = np.asarray(beliefs.mean)[1:]
    over = f"{named.setting}, {len(means)} orders"
    return Answer(words.SPREAD, named.approximation, float(means.std(ddof=1)), over)


def means_over_orders(scene: Scene, named: Named, beliefs: Belief) -> Iterator[Answer]:
    """Mean and standard deviation of the noise precision, each as a mean over random orders."""
    exact = scene.target
    for quantity, some, truth in (
        (words.MEAN, np.asarray(beliefs.mean)[1:], exact.mean),
        (words.STD, np.asarray(beliefs.std)[1:], exact.std),
    ):
        error = float(some.std(ddof=1) / np.sqrt(len(some)))
        over = f"{named.setting}, {len(some)} orders"
        yield Answer(quantity, named.approximation, float(some.mean()), over, error, truth)


def filter_tables(scene: Scene, orders: Array, noise_precision: float, times: int) -> Tables:
    """ADF in every order, and what including factors again and again does.

    Args:
        scene: what is given.
        orders: row numbers, the first in the order of the data, `[R, N]`.
        noise_precision: of the one factor that is included repeatedly.
        times: inclusions.
    """
    answers: list[Answer] = []
    drawn: list[Named] = []
    ends: list[Row] = []
    again: list[Row] = []
    for setting, rules in rules_of(scene).items():
        found = filtered(scene.line, orders, rules)
        own = found.belief.member(0)
        refused = int(found.refused[0])
        evidence = np.nan if refused else float(found.log_included[0])
        named = Named(words.ADF, setting, own, evidence)
        answers += run_answers(scene, named, refused)
        answers += means_over_orders(scene, named, found.belief)
        answers.append(spread_of(named, found.belief))
        drawn.append(named)
        ends += order_rows(named, found.belief)
        passes = filtered_again(scene.line, orders[0], rules, times)
        again += repeated_rows(f"ADF, {setting}", [b.member(0) for b in passes])
    singles = [repeated_factor(scene.line, noise_precision, 0, k) for k in range(1, times + 1)]
    again += [
        {"what": words.ONE_FACTOR, "times": k, "mean": float(b.loc), "std": float(b.weight_std)}
        for k, b in enumerate(singles, 1)
    ]
    return {
        ANSWERS: rows_of(answers),
        words.DENSITIES: densities(scene, drawn),
        words.ORDERS: ends,
        words.REPEATED: again,
    }


def repeated_rows(what: str, beliefs: Sequence[Belief]) -> list[Row]:
    """The noise precision after each pass over the data, rows of `repeated.csv`."""
    return [
        {"what": what, "times": k, "mean": float(b.mean), "std": float(b.std)}
        for k, b in enumerate(beliefs, 1)
    ]


def propagation_tables(scene: Scene, orders: Array, passes: int) -> Tables:
    """EP in every order, the first one's way and energy.

    Args:
        scene: what is given.
        orders: row numbers, the first in the order of the data, `[R, N]`.
        passes: at most.
    """
    answers: list[Answer] = []
    drawn: list[Named] = []
    tables: Tables = {words.ORDERS: [], words.STEPS: [], words.REPEATED: []}
    for setting, rules in rules_of(scene).items():
        found = propagate(scene.line, orders, rules, passes)
        own = found.last.belief.member(0)
        refused = int(found.last.refused[0])
        evidence = np.nan if refused else float(found.log_evidences[-1, 0])
        named = Named(words.EP, setting, own, evidence)
        answers += run_answers(scene, named, refused)
        answers.append(spread_of(named, found.last.belief))
        answers.append(Answer(words.PASSES, words.EP, float(found.passes[0]), setting))
        drawn.append(named)
        tables[words.ORDERS] += order_rows(named, found.last.belief)
        way = [belief.member(0) for belief in found.beliefs]
        means = [float(belief.mean) for belief in way]
        tables[words.STEPS] += step_rows(named, range(len(way)), means, found.log_evidences[:, 0])
        tables[words.REPEATED] += repeated_rows(f"EP, {setting}", way[1:])
    return {
        ANSWERS: rows_of(answers),
        words.DENSITIES: densities(scene, drawn),
        **tables,
    }


def power_tables(scene: Scene, powers: Sequence[float], passes: int) -> Tables:
    """Power EP and black-box alpha at every power, with exact K; 0 is near VI and 1 is EP.

    The book prints no updates of theirs, so that there is one reading.

    Args:
        scene: what is given.
        powers: of the factors, above 0 to 1; the book's alpha is `2 power - 1`.
        passes: of power EP at most.
    """
    line, some = scene.line, np.array(powers)
    rules = Rules(QuadratureNormaliser(some), words.CORRECTED, scene.with_weight, some)
    orders = np.tile(np.arange(line.rows), (len(some), 1))
    found = propagate(line, orders, rules, passes)
    begin = ascend(line, words.CORRECTED).belief
    rows: list[Row] = []
    answers: list[Answer] = []
    for k, power in enumerate(powers):
        tied, evidence = black_box_alpha(line, power, begin)
        setting = f"alpha {2 * power - 1:.3g}"
        own = Named(
            words.POWER_EP, setting, found.last.belief.member(k), float(found.log_evidences[-1, k])
        )
        for named in (own, Named(words.BLACK_BOX_ALPHA, setting, tied, evidence)):
            if power == QUOTED:
                answers += moment_answers(scene, named)
            rows.append({
                "approximation": named.approximation,
                "power": power,
                "alpha": 2 * power - 1,
                "mean": float(named.q.mean),
                "std": float(named.q.std),
                "weight_std": float(named.q.weight_std),
                "log_evidence": named.log_evidence,
            })  # fmt: skip
    return {ANSWERS: rows_of(answers), words.POWERS: rows}
