"""Names of the settings, tables and quantities of a run; free of heavy imports."""

from __future__ import annotations

KIND = "noise_precision"

CORRECTED, PRINTED = "corrected", "printed"
"""Readings of the book's updates: corrected, or as printed."""

JOINT, FACTORISED = "joint", "factorised"
"""Targets of the approximation: the posterior, or equation (3.48)."""

POINTS = "points"
"""The data: `input`, `target`."""

DENSITIES = "densities"
"""Densities of the noise precision: `approximation`, `setting`, `noise_precision`, `density`."""

STEPS = "steps"
"""Steps of every algorithm: `approximation`, `setting`, `step`, `mean`, `objective`, `gap`."""

ORDERS = "orders"
"""Results for every order of the data: `approximation`, `setting`, `order`, `mean`, `std`."""

REPEATED = "repeated"
"""Repeated inclusion of the same factors: `factors`, `inclusions`, `mean`, `std`."""

POWERS = "powers"
"""Power EP and black-box alpha: `approximation`, `power`, `alpha`, moments, `log_evidence`."""

QUANTITIES = (
    MEAN := "mean of noise precision",
    STD := "std of noise precision",
    WEIGHT_MEAN := "mean of weight",
    WEIGHT_STD := "std of weight",
    EVIDENCE := "log evidence",
    GAP := "KL(q || posterior)",
    MEAN_STD := "std of the mean over orders",
    PASSES := "passes until convergence",
    SKIPPED := "updates skipped",
)
"""Quantities of `answers.csv`, in order; log evidence and KL in nats."""

ONE_FACTOR = "one observation"
"""Value of `factors` in `repeated.csv` for repeated inclusion of one observation."""

EXACT, CAVI, ADF, EP = "exact", "CAVI", "ADF", "EP"
ADVI, BLACK_BOX_VI, POWER_EP, BLACK_BOX_ALPHA = (
    "ADVI",
    "black-box VI",
    "power EP",
    "black-box alpha",
)
"""Names of the approximations."""

GAUSSIAN_K, EXACT_K = "Gaussian K", "exact K"
NORMALISERS = (GAUSSIAN_K, EXACT_K)
"""Settings of ADF and EP: the normaliser K by (3.52), or by quadrature."""

MEAN_FIELD, FULL = "mean field", "full covariance"
"""Settings of ADVI."""
