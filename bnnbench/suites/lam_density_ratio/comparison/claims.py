"""Claims of chapters 5 to 9 of the thesis on the sprinkler, each with the rule that checks it.

C15 and C16, on losses at a point, are checked by `experiment=estimator_parametrisations`.
"""

from __future__ import annotations

from bnnbench.results.claims import Claim, Rule, check_claims
from bnnbench.suites.lam_density_ratio.comparison.estimator_rules import (
    Distinguishable,
    EstimatorGroups,
    HalfDeviationSignificant,
    MeansInOrder,
)
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, thesis_evidence
from bnnbench.suites.lam_density_ratio.comparison.failure_rules import FailsOften, NeverFails
from bnnbench.suites.lam_density_ratio.comparison.learning_curve_rules import (
    ConvergesFaster,
    FallsFasterEarly,
    LossSettles,
    NelboFallsWithModelObservations,
    NelboRises,
    NoGainFromLongerTraining,
)
from bnnbench.suites.lam_density_ratio.comparison.published import Cell
from bnnbench.suites.lam_density_ratio.comparison.rules import (
    AtFloor,
    Better,
    CloseMeans,
    NoDifference,
)
from bnnbench.suites.lam_density_ratio.names import CONTRASTS, DIVERGENCES, ESTIMATORS

TABLE_NUMBERS = {
    ("optimal", "prior"): "8.1",
    ("optimal", "joint"): "8.2",
    ("undertrained", "prior"): "9.1",
    ("undertrained", "joint"): "9.2",
}
"""The table with the six configurations of each setting and contrast."""


def relu(contrast: str, setting: str = "optimal") -> Cell:
    """Return the ReLU ratio of chapter 5, which is trained with reverse KL."""
    return Cell(setting, contrast, "kl_posterior_prior", "relu_ratio")


def exponential(contrast: str) -> Cell:
    """Return the ratio with the exponential output of chapter 6."""
    return Cell("optimal", contrast, "kl_posterior_prior", "ratio")


def classifier(contrast: str) -> Cell:
    """Return class probability estimation as in chapter 5."""
    return Cell("optimal", contrast, "gan", "class_probability")


def estimators(setting: str, contrast: str, divergence: str) -> tuple[Cell, ...]:
    """Return the three estimators of one divergence."""
    return tuple(Cell(setting, contrast, divergence, name) for name in ESTIMATORS)


def estimator_groups(setting: str) -> EstimatorGroups:
    """Return the four groups of estimators of one setting, with their tables."""
    return tuple(
        (TABLE_NUMBERS[setting, contrast], estimators(setting, contrast, divergence))
        for contrast in CONTRASTS
        for divergence in DIVERGENCES
    )


def by_divergence(setting: str, contrast: str) -> tuple[tuple[Cell, Cell], ...]:
    """Return every estimator under GAN and under reverse KL."""
    pairs = (estimators(setting, contrast, divergence) for divergence in DIVERGENCES)
    return tuple(zip(*pairs, strict=True))


OPTIMAL_PRIOR = tuple(cell for _, group in estimator_groups("optimal")[:2] for cell in group)
"""Both divergences and all estimators with the prior contrast, trained to the optimum."""

CONTRAST_PAIRS = tuple(
    ((TABLE_NUMBERS[setting, "prior"], prior), (TABLE_NUMBERS[setting, "joint"], joint))
    for setting in ("optimal", "undertrained")
    for divergence in DIVERGENCES
    for prior, joint in zip(
        estimators(setting, "prior", divergence),
        estimators(setting, "joint", divergence),
        strict=True,
    )
)

ALL_JOINT = tuple(
    cell
    for setting in ("optimal", "undertrained")
    for divergence in DIVERGENCES
    for cell in estimators(setting, "joint", divergence)
)

ALL_RELU = tuple(relu(c, s) for s in ("optimal", "undertrained") for c in CONTRASTS)

UNDERTRAINED_PAIRS = tuple(
    pair for contrast in CONTRASTS for pair in by_divergence("undertrained", contrast)
)


def kl_better_pairs(setting: str, contrast: str) -> tuple[tuple[Cell, Cell], ...]:
    """Return every estimator under reverse KL, claimed to be better, and under GAN."""
    return tuple((kl, gan) for gan, kl in by_divergence(setting, contrast))


STATEMENTS: tuple[tuple[str, str, Rule[Evidence]], ...] = (
    (
        "C1: The prior contrast converges much faster than the joint one.",
        "5.3",
        ConvergesFaster(CONTRAST_PAIRS),
    ),
    (
        "C2: Class probability estimation beats divergence minimisation with a ReLU.",
        "5.3, Table 5.1",
        Better("5.1", tuple((classifier(c), relu(c)) for c in CONTRASTS)),
    ),
    (
        "C3: The ReLU ratio fails in about half of the simulations.",
        "5.3, 6.1",
        FailsOften(ALL_RELU),
    ),
    (
        "C4: The exponential output does not fail.",
        "6.3",
        NeverFails(tuple(exponential(contrast) for contrast in CONTRASTS)),
    ),
    (
        "C4: The exponential output converges better and more evenly than the ReLU.",
        "6.3, Table 6.1",
        Better("6.1", tuple((exponential(c), relu(c)) for c in CONTRASTS), spread=True),
    ),
    (
        "C5: With the exponential output, divergence minimisation is as good as class probability "
        "estimation.",
        "6.3",
        CloseMeans("6.1", exponential("prior"), "5.1", classifier("prior"), 0.002),
    ),
    (
        "C6: The posterior is optimal at an average KL of about 1.325 or 1.326.",
        "5.4, 8.3",
        AtFloor("8.1", OPTIMAL_PRIOR, 0.005),
    ),
    (
        "C6: Twice as many iterations do not lower the average KL.",
        "8.3",
        NoGainFromLongerTraining(OPTIMAL_PRIOR),
    ),
    (
        "C7: With the prior contrast there is no difference among all six.",
        "8.3, Table 8.1",
        NoDifference("8.1", (OPTIMAL_PRIOR,)),
    ),
    (
        "C8: With the joint contrast there is no difference among estimators of one divergence.",
        "8.3, Table 8.2",
        NoDifference("8.2", tuple(estimators("optimal", "joint", d) for d in DIVERGENCES)),
    ),
    (
        "C9: With the joint contrast, GAN is slower and less consistent than reverse KL.",
        "8.3, Table 8.2",
        Better("8.2", kl_better_pairs("optimal", "joint"), spread=True, min_pairs=3),
    ),
    *(
        (
            f"C10: Undertrained, reverse KL is significantly better than GAN ({contrast}).",
            f"9.3, Table {TABLE_NUMBERS['undertrained', contrast]}",
            Better(
                TABLE_NUMBERS["undertrained", contrast],
                kl_better_pairs("undertrained", contrast),
                min_pairs=3,
            ),
        )
        for contrast in CONTRASTS
    ),
    (
        "C11: Undertrained, D has the lowest mean, followed by r and T.",
        "9.3, Tables 9.1, 9.2",
        MeansInOrder(estimator_groups("undertrained")),
    ),
    (
        "C11: The estimators differ.",
        "9.1.3, 9.3",
        Distinguishable(estimator_groups("undertrained")),
    ),
    (
        "C12: Means half a standard deviation apart differ significantly.",
        "9.3",
        HalfDeviationSignificant(estimator_groups("undertrained")),
    ),
    (
        "C13: Undertrained, the average KL falls faster at first under GAN.",
        "9.3, Figs. 9.2, 9.5",
        FallsFasterEarly(UNDERTRAINED_PAIRS),
    ),
    (
        "C13: The loss of reverse KL fluctuates first and steadies after 500 iterations; that of "
        "GAN is steady throughout.",
        "9.3, Figs. 9.3, 9.6",
        LossSettles(UNDERTRAINED_PAIRS),
    ),
    (
        "C14: With the joint contrast the NELBO rises while the average KL falls.",
        "5.3, 9.3",
        NelboRises(ALL_JOINT),
    ),
    (
        "C14, explained: it rises because q*(x) is five atoms; with x drawn from p(x) it falls "
        "towards zero.",
        "ours",
        NelboFallsWithModelObservations(ALL_JOINT),
    ),
)


def claims(evidence: Evidence) -> list[Claim]:
    """Return every claim with its verdicts on our runs and on the thesis's tables."""
    return check_claims(STATEMENTS, evidence, thesis_evidence())
