"""The rules by which the book's statements on divergences are checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.results.answers import value_of
from bnnbench.results.claims import Finding
from bnnbench.suites.inference_toys.kl_shapes.findings import Findings, mixture_of
from bnnbench.suites.inference_toys.kl_shapes.mixture import Part
from bnnbench.suites.inference_toys.kl_shapes.tables import (
    FORWARD,
    HELLINGER,
    NAMES,
    NEAR,
    REVERSE,
    name_of,
)

CLOSE = 1e-3
"""Between numbers of two computations that should agree but for the minimiser's last digits."""

ON_THE_PART = 0.1
"""Deviations of a part within which a mean is said to be at it."""

NOTHING = 0.01
"""A probability as good as none."""

SOMETHING = 0.05
"""A probability that is not left out."""


@dataclass(frozen=True)
class MatchesMoments:
    """Whether minimising the forward KL divergence finds the moments of p."""

    rule: str = f"mean and standard deviation are within {CLOSE:g} of p's, for every mixture"

    def find(self, given: Findings) -> Finding:
        differences = [
            abs(difference)
            for _, row in given.best_at(FORWARD).iterrows()
            for p in [mixture_of(row)]
            for difference in (row["loc"] - p.mean, row["scale"] - p.standard_deviation)
        ]
        worst = max(differences)
        return worst < CLOSE, f"largest difference {worst:.1e} over {len(differences)} numbers"


@dataclass(frozen=True)
class SeeksAPart:
    """Whether the reverse KL divergence ends at one part, once the parts are far apart.

    Attributes:
        by: `mass` for the part that has more of the probability, `height` for the one where the
            density is highest.
    """

    by: str

    @property
    def rule(self) -> str:
        which = "with the larger share" if self.by == "mass" else "with the higher peak"
        return (
            f"at the greatest separation the mean is within {ON_THE_PART:g} deviations of the part "
            f"{which}, for every mixture that has one"
        )

    def find(self, given: Findings) -> Finding:
        rows = given.best_at(REVERSE)
        held = []
        for _, row in rows[rows["separation"] == given.farthest].iterrows():
            p = mixture_of(row)
            left, right = p.parts
            if not np.isclose(self._weight(left), self._weight(right)):
                sought = max(p.parts, key=self._weight)
                held.append((_at(sought, row), f"{p.name}: mean {row['loc']:.2f}"))
        if not held:
            return None, "no mixture has such a part"
        return all(one for one, _ in held), "; ".join(text for _, text in held)

    def _weight(self, part: Part) -> float:
        return part.share if self.by == "mass" else part.share / part.scale


@dataclass(frozen=True)
class HasAnOptimumPerPart:
    """Whether each part has a local optimum of the reverse KL divergence."""

    rule: str = (
        f"at the greatest separation there is a local optimum within {ON_THE_PART:g} deviations "
        "of each part, for every mixture"
    )

    def find(self, given: Findings) -> Finding:
        rows = given.fits[given.fits["order"] == REVERSE]
        rows = rows[rows["separation"] == given.farthest]
        held, told = [], []
        for name, own in rows.groupby("mixture", sort=False):
            p = mixture_of(own.iloc[0])
            held.append(all(any(_at(part, row) for _, row in own.iterrows()) for part in p.parts))
            optima = ", ".join(f"{row['divergence']:.4f}" for _, row in own.iterrows())
            told.append(f"{name}: KL {optima}")
        return all(held), "; ".join(told)


@dataclass(frozen=True)
class ForcesZeros:
    """Whether q leaves out where p has nothing, for orders of at most -1."""

    rule: str = (
        f"at the greatest separation every q of order -1 or less has at most {NOTHING:.0%} of its "
        "probability where p has under 1% of its highest density"
    )

    def find(self, given: Findings) -> Finding:
        rows = given.best[given.best["separation"] == given.farthest]
        forcing, others = (
            rows.loc[chosen, "stray"]
            for chosen in (rows["order"] <= REVERSE, rows["order"] >= FORWARD)
        )
        evidence = f"at most {forcing.max():.2%}; {others.min():.0%} or more from order 1 on"
        return bool(forcing.max() <= NOTHING), evidence


@dataclass(frozen=True)
class CoversAll:
    """Whether q leaves out no part of p, for orders of at least 1."""

    rule: str = (
        f"every q of order 1 or more has at least {SOMETHING:.0%} of its probability within two "
        "deviations of each part, for every mixture"
    )

    def find(self, given: Findings) -> Finding:
        avoiding = given.best.loc[given.best["order"] >= FORWARD, "least_part"]
        far = given.best[given.best["separation"] == given.farthest]
        forcing = far.loc[far["order"] <= REVERSE, "least_part"]
        evidence = (
            f"at least {avoiding.min():.1%}; at most {forcing.max():.2%} up to order -1 at the "
            "greatest separation"
        )
        return bool(avoiding.min() >= SOMETHING), evidence


@dataclass(frozen=True)
class ReachesItsLimits:
    """Whether the family's formula next to its limits gives the fits of the KL divergences."""

    rule: str = (
        f"mean and deviation at orders -{NEAR:g} and {NEAR:g} are within 0.01 of those of reverse "
        "and forward KL, for every mixture"
    )

    def find(self, given: Findings) -> Finding:
        worst = {}
        for limit, near in ((REVERSE, -NEAR), (FORWARD, NEAR)):
            ours, theirs = (
                given.best_at(order).set_index("mixture")[["loc", "scale"]]
                for order in (near, limit)
            )
            worst[name_of(limit)] = float((ours - theirs).abs().max(axis=None))
        evidence = ", ".join(f"{name}: {value:.1e}" for name, value in worst.items())
        return max(worst.values()) < 0.01, f"largest difference, {evidence}"


@dataclass(frozen=True)
class WidensWithOrder:
    """Whether q is the wider the larger the order.

    Attributes:
        like_parts: only mixtures whose parts are equally wide and equally heavy.
    """

    like_parts: bool

    @property
    def rule(self) -> str:
        which = "mixture of two equal parts" if self.like_parts else "mixture"
        return f"the variance of q never falls from one order to the next, for every {which}"

    def find(self, given: Findings) -> Finding:
        rows = given.best
        if self.like_parts:
            rows = rows[(rows["share"] == 0.5) & (rows["scale_of_part"] == 1)]
        falls = {}
        for name, own in rows.groupby("mixture", sort=False):
            variance = own.sort_values("order").set_index("order")["scale"] ** 2
            lost = 1 - variance / variance.cummax()
            if lost.max() > CLOSE:
                falls[str(name)] = f"{lost.max():.1%} down at alpha = {lost.idxmax():g}"
        mixtures = rows["mixture"].nunique()
        if mixtures == 0:
            return None, "no such mixture"
        told = "".join(f"; {name}: {fall}" for name, fall in falls.items())
        return not falls, f"rises in {mixtures - len(falls)} of {mixtures}{told}"


@dataclass(frozen=True)
class OnlyHellingerIsSymmetric:
    """Whether exchanging p and q changes the divergence of every order but 0."""

    rule: str = (
        "exchanging p and q changes the divergence at order 0 by less than 1e-9 for every mixture, "
        "and at every other order by more than 0.1% for some mixture"
    )

    def find(self, given: Findings) -> Finding:
        rows = given.best
        changes = (rows["swapped"] - rows["divergence"]).abs()
        relative = (changes / rows["divergence"].abs()).where(rows["divergence"] > 1e-6, 0.0)
        symmetric = float(changes[rows["order"] == HELLINGER].max())
        others = relative[rows["order"] != HELLINGER].groupby(rows["order"]).max()
        evidence = f"order 0: {symmetric:.0e}; others: {others.min():.1%} or more"
        return bool(symmetric < 1e-9 and others.min() > 1e-3), evidence


@dataclass(frozen=True)
class FactorVariance:
    """How the variance of the mean-field factors compares with that of the marginals.

    Attributes:
        captured: whether the claim is that it is the same; else that it is smaller.
    """

    captured: bool

    @property
    def rule(self) -> str:
        relation = "within 1% of" if self.captured else "below"
        return f"the variance of the factors that reverse KL picks is {relation} the marginals', 1"

    def find(self, given: Findings) -> Finding:
        variance = value_of(given.answers, "variance of each factor", NAMES[REVERSE])
        forward = value_of(given.answers, "variance of each factor", NAMES[FORWARD])
        holds = abs(variance - 1) < 0.01 if self.captured else variance < 1
        correlation = float(given.factorised["correlation"].iloc[0])
        return bool(holds), (
            f"{variance:.3f} at correlation {correlation:g}; forward KL picks {forward:.3f}"
        )


def _at(part: Part, row: pd.Series) -> bool:
    return abs(row["loc"] - part.loc) <= ON_THE_PART * part.scale
