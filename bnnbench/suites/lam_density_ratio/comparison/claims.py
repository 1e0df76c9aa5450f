"""What chapters 5 to 9 of the thesis say of the sprinkler, each claim with the rule that judges it.

C15 and C16, on losses at a point, are judged by `experiment=estimator_parametrisations`.
"""

from __future__ import annotations

from bnnbench.results.claims import Check, Claim, checked
from bnnbench.suites.lam_density_ratio.comparison.course_rules import (
    FallsFirst,
    Faster,
    LongerIsNoBetter,
    Remedied,
    Rises,
    Steadies,
)
from bnnbench.suites.lam_density_ratio.comparison.estimator_rules import (
    Groups,
    HalfADeviation,
    InOrder,
    ToldApart,
)
from bnnbench.suites.lam_density_ratio.comparison.evidence import Evidence, thesis
from bnnbench.suites.lam_density_ratio.comparison.failure_rules import Fails, NeverFails
from bnnbench.suites.lam_density_ratio.comparison.published import (
    CONTRASTS,
    DIVERGENCES,
    ESTIMATORS,
    Cell,
)
from bnnbench.suites.lam_density_ratio.comparison.rules import (
    Alike,
    AtFloor,
    Better,
    Near,
)

NUMBERS = {
    ("optimal", "prior"): "8.1",
    ("optimal", "joint"): "8.2",
    ("undertrained", "prior"): "9.1",
    ("undertrained", "joint"): "9.2",
}
"""The table of six estimators of each setting and contrast."""


def relu(contrast: str, setting: str = "optimal") -> Cell:
    """The ReLU ratio, which is trained by reverse KL."""
    return Cell(setting, contrast, "reverse_kl", "relu")


def exponential(contrast: str) -> Cell:
    """The same with the exponential output of chapter 6."""
    return Cell("optimal", contrast, "reverse_kl", "r")


def classifier(contrast: str) -> Cell:
    """Class probability estimation as chapter 5 has it."""
    return Cell("optimal", contrast, "gan", "D")


def three(setting: str, contrast: str, divergence: str) -> tuple[Cell, ...]:
    """The three estimators of one divergence."""
    return tuple(Cell(setting, contrast, divergence, name) for name in ESTIMATORS)


def groups(setting: str) -> Groups:
    """The four groups of three estimators of one setting, with the table each stands in."""
    return tuple(
        (NUMBERS[setting, contrast], three(setting, contrast, divergence))
        for contrast in CONTRASTS
        for divergence in DIVERGENCES
    )


def by_divergence(setting: str, contrast: str) -> tuple[tuple[Cell, Cell], ...]:
    """Every estimator under GAN and under reverse KL."""
    pairs = (three(setting, contrast, divergence) for divergence in ("gan", "reverse_kl"))
    return tuple(zip(*pairs, strict=True))


ALL_SIX = tuple(cell for _, group in groups("optimal")[:2] for cell in group)
"""Both divergences and all estimators with the prior contrast, trained to the optimum."""

BOTH_CONTRASTS = tuple(
    ((NUMBERS[setting, "prior"], prior), (NUMBERS[setting, "joint"], joint))
    for setting in ("optimal", "undertrained")
    for divergence in DIVERGENCES
    for prior, joint in zip(
        three(setting, "prior", divergence), three(setting, "joint", divergence), strict=True
    )
)

EVERY_JOINT = tuple(
    cell
    for setting in ("optimal", "undertrained")
    for divergence in DIVERGENCES
    for cell in three(setting, "joint", divergence)
)

EVERY_RELU = tuple(relu(c, s) for s in ("optimal", "undertrained") for c in CONTRASTS)

EARLY_PAIRS = tuple(
    pair for contrast in CONTRASTS for pair in by_divergence("undertrained", contrast)
)


def reversed_pairs(setting: str, contrast: str) -> tuple[tuple[Cell, Cell], ...]:
    """Every estimator under reverse KL, said to be better, and under GAN."""
    return tuple((other, gan) for gan, other in by_divergence(setting, contrast))


STATEMENTS: tuple[tuple[str, str, Check[Evidence]], ...] = (
    (
        "C1: The prior contrast converges much faster than the joint one.",
        "5.3",
        Faster(BOTH_CONTRASTS),
    ),
    (
        "C2: Class probability estimation beats divergence minimisation with a ReLU.",
        "5.3, Table 5.1",
        Better("5.1", tuple((classifier(c), relu(c)) for c in CONTRASTS)),
    ),
    ("C3: The ReLU ratio fails in about half of the simulations.", "5.3, 6.1", Fails(EVERY_RELU)),
    (
        "C4: The exponential output does not fail.",
        "6.3",
        NeverFails(tuple(exponential(contrast) for contrast in CONTRASTS)),
    ),
    (
        "C4: It converges better and more evenly than the ReLU.",
        "6.3, Table 6.1",
        Better("6.1", tuple((exponential(c), relu(c)) for c in CONTRASTS), spread=True),
    ),
    (
        "C5: With it, divergence minimisation is as good as class probability estimation.",
        "6.3",
        Near("6.1", exponential("prior"), "5.1", classifier("prior"), 0.002),
    ),
    (
        "C6: The posterior is optimal at an average KL of about 1.325 or 1.326.",
        "5.4, 8.3",
        AtFloor("8.1", ALL_SIX, 0.005),
    ),
    (
        "C6: Twice as many iterations do not lower it.",
        "8.3",
        LongerIsNoBetter(ALL_SIX),
    ),
    (
        "C7: With the prior contrast there is no difference among all six.",
        "8.3, Table 8.1",
        Alike("8.1", (ALL_SIX,)),
    ),
    (
        "C8: With the joint contrast the estimators of one divergence are alike.",
        "8.3, Table 8.2",
        Alike("8.2", tuple(three("optimal", "joint", d) for d in DIVERGENCES)),
    ),
    (
        "C9: There, GAN is slower and less consistent than reverse KL.",
        "8.3, Table 8.2",
        Better("8.2", reversed_pairs("optimal", "joint"), spread=True, least_pairs=3),
    ),
    *(
        (
            f"C10: Undertrained, reverse KL is significantly better than GAN ({contrast}).",
            f"9.3, Table {NUMBERS['undertrained', contrast]}",
            Better(
                NUMBERS["undertrained", contrast],
                reversed_pairs("undertrained", contrast),
                least_pairs=3,
            ),
        )
        for contrast in CONTRASTS
    ),
    (
        "C11: Undertrained, D has the lowest mean, followed by r and T.",
        "9.3, Tables 9.1, 9.2",
        InOrder(groups("undertrained")),
    ),
    (
        "C11: That is a difference between the estimators.",
        "9.1.3, 9.3",
        ToldApart(groups("undertrained")),
    ),
    (
        "C12: Means half a standard deviation apart differ significantly.",
        "9.3",
        HalfADeviation(groups("undertrained")),
    ),
    (
        "C13: Undertrained, the average KL falls faster at first under GAN.",
        "9.3, Figs. 9.2, 9.5",
        FallsFirst(EARLY_PAIRS),
    ),
    (
        "C13: The loss of reverse KL fluctuates first and steadies after 500 iterations; that of "
        "GAN is steady throughout.",
        "9.3, Figs. 9.3, 9.6",
        Steadies(EARLY_PAIRS),
    ),
    (
        "C14: With the joint contrast the NELBO rises while the average KL falls.",
        "5.3, 9.3",
        Rises(EVERY_JOINT),
    ),
    (
        "C14, explained: it does so since q*(x) is five atoms; with x drawn from p(x) it falls "
        "towards zero.",
        "ours",
        Remedied(EVERY_JOINT),
    ),
)


def claims(evidence: Evidence) -> list[Claim]:
    """Every claim with its verdict on our runs and, where its tables allow, on the thesis's own."""
    return checked(STATEMENTS, evidence, thesis())
