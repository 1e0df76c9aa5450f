"""Every claim of the GVI thesis on made-up numbers for which it holds, and for which it fails."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pandas as pd
import pytest
from support.pairs import duels

from bnnbench.results.claims import Claim, checked
from bnnbench.suites.felekis_gvi.claims import STATEMENTS, claims
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, ThesisRuns

TEXTS = [text for text, _, _ in STATEMENTS]

FIELD = (*DIVERGENCES, "mc_dropout", "deep_ensemble", "sgld")

STRENGTH = {
    1: "js_w2 fisher alpha_renyi kl alpha sgld renyi tv_lower tv_upper rkl deep_ensemble "
    "mc_dropout",
    2: "deep_ensemble sgld js_w2 fisher tv_lower tv_upper alpha renyi alpha_renyi rkl kl "
    "mc_dropout",
    3: "js_w2 fisher tv_lower tv_upper kl alpha sgld renyi alpha_renyi rkl deep_ensemble "
    "mc_dropout",
}
"""By depth, contenders from the best on: in this order all that the thesis says is true."""

SHARES = {
    "tv_lower": (0.62, 0.63, 0.69),
    "alpha_renyi": (0.62, 0.63, 0.64),
    "kl": (0.50, 0.68, 0.75),
    "renyi": (0.50, 0.68, 0.75),
    "alpha": (0.50, 0.68, 0.69),
    "js_w2": (0.50, 0.55, 0.69),
    "rkl": (0.60, 0.55, 0.50),
}
"""What one deviation holds at each depth; of the others: `OTHERWISE`."""

OTHERWISE = (0.50, 0.55, 0.60)

LEVEL = {1: 200.0, 2: 100.0, 3: 0.0}
"""By depth, what is added to the place for a score."""


def suite(
    strength: dict[int, str] | None = None,
    shares: dict[tuple[str, int], float] | None = None,
    best: float = 2.0,
    shallow: int = 1,
    level: dict[int, float] | None = None,
    spread: dict[int, float] | None = None,
    low: float = -0.1,
) -> ThesisRuns:
    """Numbers for which every claim holds, but for the changes."""
    order = {depth: words.split() for depth, words in (STRENGTH | (strength or {})).items()}
    height, width = LEVEL | (level or {}), {1: 1.0, 2: 2.0, 3: 3.0} | (spread or {})
    cells = [
        {"dataset": data, "depth": depth, "name": name, "score": height[depth] + place,
         "spread": width[depth]}
        for data, (depth, names) in product(("boston", "concrete"), order.items())
        for place, name in enumerate(names)
    ]  # fmt: skip
    indexed = pd.DataFrame(cells).set_index(["dataset", "depth", "name"])
    middle, around = (
        pd.DataFrame({"rmse": indexed[column], "log_likelihood": indexed[column]})
        for column in ("score", "spread")
    )
    pairs = pd.concat(
        duels({name: -place for place, name in enumerate(names)}, data).assign(depth=depth)
        for data, (depth, names) in product(("boston", "concrete"), order.items())
    )
    pairs = pairs.assign(a=pairs["run_a"], b=pairs["run_b"])
    pairs = pairs[pairs["metric"].isin(["rmse", "log_likelihood"])]
    orders = pd.DataFrame([
        {"dataset": "boston", "divergence_family": family, "order": order_, "rmse_mean": distance,
         "log_likelihood_mean": -distance}
        for family in ("alpha", "renyi", "alpha_renyi")
        for order_ in (0.25, 0.5, 1.25, 2.0, 3.0)
        for distance in [abs(order_ - best)]
    ])  # fmt: skip
    held = {(n, d): SHARES.get(n, OTHERWISE)[d - 1] for n in FIELD for d in (1, 2, 3)}
    sigma = pd.DataFrame([
        {"name": name, "depth": depth, "inside_1": share, "difference": abs(share - 0.683),
         "low_excess": low}
        for (name, depth), share in (held | (shares or {})).items()
    ])  # fmt: skip
    criteria = pd.DataFrame([
        {"name": name, "depth": depth, **dict.fromkeys(("bic", "aic", "hqc"), float(cost))}
        for name in FIELD
        for depth in (1, 2, 3)
        for cost in [abs(depth - shallow)]
    ])  # fmt: skip
    return ThesisRuns(orders, middle, around, pairs, sigma, criteria)


def swapped(depth: int, a: str, b: str) -> dict[str, Any]:
    words = STRENGTH[depth].split()
    i, j = words.index(a), words.index(b)
    words[i], words[j] = words[j], words[i]
    return {"strength": {depth: " ".join(words)}}


FALSE: dict[str, dict[str, Any]] = {
    "Performance improves for alpha > 1.": {"best": 0.4},
    "It does so especially from 1.75 to 3.": {"best": 1.25},
    "1 layer: aAR, JS and F are equally good with KL or better.": swapped(1, "alpha_renyi", "kl"),
    "1 layer: RKL performs worst of all.": swapped(1, "rkl", "tv_upper"),
    "2 layers: aAR's variance increases.": {"spread": {1: 2.5}},
    "2 layers: F outperforms KL almost everywhere.": swapped(2, "fisher", "kl"),
    "2 layers: TVL outperforms KL, especially in NLL.": swapped(2, "tv_lower", "kl"),
    "2 layers: JS outperforms KL.": swapped(2, "js_w2", "kl"),
    "2 layers: A improves on one layer.": {"level": {1: 50.0}},
    "2 layers: JS outperforms all others.": swapped(2, "js_w2", "fisher"),
    "2 layers: TVL works better than TVU.": swapped(2, "tv_lower", "tv_upper"),
    "2 layers: KL has the worst NLL most of the times.": swapped(2, "kl", "rkl"),
    "2 layers, concrete: almost all divergences work better than KL.": swapped(2, "kl", "alpha"),
    "3 layers: the uncertainty is higher, mainly by outliers among the runs.": {"spread": {3: 2.0}},
    "3 layers: JS and F remain the top performers.": swapped(3, "fisher", "kl"),
    "3 layers: TVL and TVU improve both RMSE and NLL.": {"level": {3: 150.0}},
    "3 layers: TVL outperforms KL on 3 of 4 data sets.": swapped(3, "tv_lower", "kl"),
    "3 layers: TVU outperforms KL on 3 of 4 data sets.": swapped(3, "tv_upper", "kl"),
    "1 layer: GVI outperforms MC dropout and deep ensembles.": swapped(1, "js_w2", "mc_dropout"),
    "1 layer: GVI is equally good with SGLD.": swapped(1, "alpha_renyi", "sgld"),
    "1 layer: MC dropout performs worst.": swapped(1, "deep_ensemble", "mc_dropout"),
    "2 layers: the other methods come closer to the RMSE of GVI.": {
        "strength": {1: "js_w2 mc_dropout alpha_renyi deep_ensemble kl sgld alpha "
                        "fisher renyi tv_lower tv_upper rkl"}
    },
    "2 layers: deep ensembles and SGLD outperform all others in NLL.": swapped(2, "sgld", "js_w2"),
    "3 layers: GVI remains the best performer, in some cases alongside SGLD.": swapped(
        3, "js_w2", "sgld"
    ),
    "3 layers: GVI improves its NLL.": {"level": {2: -50.0}},
    "3 layers: the variance of all methods increases.": {"spread": {2: 4.0}},
    "Confidence increases with the number of layers, but for RKL.": {
        "shares": {(name, 3): 0.4 for name in ("js_w2", "kl", "alpha")}
    },
    "That of RKL decreases.": {"shares": {("rkl", 3): 0.6}},
    "Small intervals, below 0.7 deviations, are too narrow.": {"low": 0.1},
    "1 layer: TVL and aAR are the best calibrated.": {"shares": {("js_w2", 1): 0.68}},
    "2 layers: KL, AR and A are.": {"shares": {("fisher", 2): 0.683}},
    "3 layers: TVL, A and JS are.": {"shares": {("kl", 3): 0.684}},
    "Criteria always prefer one hidden layer.": {"shallow": 2},
}  # fmt: skip


WHOLE = suite()


def claim(given: ThesisRuns, text: str) -> Claim:
    (found,) = checked([one for one in STATEMENTS if one[0] == text], given)
    return found


def test_every_statement_can_fail() -> None:
    assert list(FALSE) == TEXTS


@pytest.mark.parametrize("text", TEXTS)
def test_a_claim_holds_or_fails_by_the_numbers(text: str) -> None:
    assert claim(WHOLE, text).verdict == "confirmed"
    assert claim(suite(**FALSE[text]), text).verdict == "not confirmed"


def test_a_claim_without_its_runs_is_not_tested_and_without_any_is_not_shown() -> None:
    whole = WHOLE
    lone = replace(
        whole,
        orders=whole.orders[whole.orders["order"] > 1],
        medians=whole.medians.query("name == 'kl'"),
        spreads=whole.spreads.iloc[:0],
        pairs=whole.pairs.iloc[:0],
        sigma=whole.sigma[whole.sigma["depth"] == 4],
        criteria=whole.criteria[whole.criteria["depth"] == 1],
    )
    found = {c.text: c.verdict for c in claims(lone)}
    assert list(found) == TEXTS
    assert [text for text, verdict in found.items() if verdict != "not tested"] == [TEXTS[1]]
    empty = replace(lone, orders=whole.orders.iloc[:0], medians=pd.DataFrame())
    assert {c.source for c in claims(empty)} == {"5.0.2"}


def test_orders_that_make_no_difference_neither_help_nor_are_best() -> None:
    whole = WHOLE
    even = whole.orders.assign(rmse_mean=3 + whole.orders["order"] / 1000, log_likelihood_mean=-2.5)
    found = claim(replace(whole, orders=even), TEXTS[0])
    assert found.verdict == "not confirmed"
    assert "AR better in 0, worse in 0, equal in 2" in found.evidence
    assert claim(replace(whole, orders=even), TEXTS[1]).verdict == "not tested"


def test_the_nearest_are_not_called_calibrated_if_they_are_far() -> None:
    far = {(name, 1): 0.9 if name in ("tv_lower", "alpha_renyi") else 0.95 for name in DIVERGENCES}
    text = "1 layer: TVL and aAR are the best calibrated."
    assert claim(suite(shares=far), text).verdict == "not confirmed"


def test_criteria_of_other_runs_say_nothing_of_the_divergences() -> None:
    whole = WHOLE
    others = replace(whole, criteria=whole.criteria[whole.criteria["name"] == "mc_dropout"])
    assert claim(others, TEXTS[-1]).verdict == "not tested"


def test_a_score_that_no_order_has_is_passed_over() -> None:
    whole = WHOLE
    lost = replace(whole, orders=whole.orders.assign(log_likelihood_mean=float("nan")))
    found = claim(lost, TEXTS[0])
    assert found.verdict == "confirmed" and "A better in 1, worse in 0" in found.evidence


def test_the_thesis_own_numbers_are_judged_by_the_same_rules() -> None:
    theirs = {c.text: c.theirs for c in claims(WHOLE) if c.theirs}
    said = {text: words.split(":")[0] for text, words in theirs.items()}
    assert said == {
        "Confidence increases with the number of layers, but for RKL.": "confirmed",
        "That of RKL decreases.": "confirmed",
        "1 layer: TVL and aAR are the best calibrated.": "not confirmed",
        "2 layers: KL, AR and A are.": "not confirmed",
        "3 layers: TVL, A and JS are.": "not confirmed",
        "Criteria always prefer one hidden layer.": "confirmed",
    }
    rising = theirs["Confidence increases with the number of layers, but for RKL."]
    assert rising.startswith("confirmed: 6 of 8: KL 0.55, 0.81, 0.53; ")


@pytest.mark.parametrize(
    ("depth", "text"),
    [
        (1, "1 layer: GVI outperforms MC dropout and deep ensembles."),
        (3, "3 layers: GVI remains the best performer, in some cases alongside SGLD."),
    ],
)
def test_one_good_divergence_does_not_make_all_of_them_the_best(depth: int, text: str) -> None:
    """Nor does one that is behind a rival spoil them: their mean rank speaks, at every depth."""
    first = "js_w2 sgld mc_dropout deep_ensemble kl alpha alpha_renyi"
    rest = " fisher renyi tv_lower tv_upper rkl"
    assert claim(suite(strength={depth: first + rest}), text).verdict == "not confirmed"
    spoilt = "js_w2 kl alpha_renyi sgld mc_dropout deep_ensemble alpha"
    assert claim(suite(strength={depth: spoilt + rest}), text).verdict == "confirmed"
