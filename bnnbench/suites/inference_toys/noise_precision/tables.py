"""The kind of such a run, the words of its settings and tables; light, so a report needs no torch.

`answers.csv` has the numbers, the others what figures and claims are made of.
"""

from __future__ import annotations

KIND = "noise_precision"

CORRECTED, PRINTED = "corrected", "printed"
"""Readings of the book's updates: as the mathematics has them, or letter by letter."""

JOINT, FACTORISED = "joint", "factorised"
"""What is approximated: the posterior, or what equation (3.48) takes for it."""

POINTS = "points"
"""The data: `input`, `target`."""

DENSITIES = "densities"
"""Densities of the noise precision: `approximation`, `setting`, `noise_precision`, `density`."""

STEPS = "steps"
"""The way of every algorithm: `approximation`, `setting`, `step`, `mean`, `objective`, `gap`."""

ORDERS = "orders"
"""Ends by the order of the data: `approximation`, `setting`, `order`, `mean`, `std`."""

REPEATED = "repeated"
"""The same factors included again and again: `what`, `times`, `mean`, `std`."""

POWERS = "powers"
"""Power EP and black-box alpha: `approximation`, `power`, `alpha`, moments, `log_evidence`."""

QUANTITIES = (
    MEAN := "mean of noise precision",
    STD := "std of noise precision",
    WEIGHT_MEAN := "mean of weight",
    WEIGHT_STD := "std of weight",
    EVIDENCE := "log evidence",
    GAP := "KL(q || posterior)",
    SPREAD := "spread of means over orders",
    PASSES := "passes to rest",
    REFUSED := "updates refused",
)
"""Of `answers.csv`, in their order; log evidence and KL in nats."""

ONE_FACTOR = "one observation"
"""In `repeated.csv`, the weight after one observation came in again and again."""

EXACT, CAVI, ADF, EP = "exact", "CAVI", "ADF", "EP"
ADVI, SCORE, POWER_EP, BLACK_BOX_ALPHA = "ADVI", "black-box VI", "power EP", "black-box alpha"
"""Approximations."""

GAUSSIAN_K, EXACT_K = "Gaussian K", "exact K"
"""Settings of ADF and EP: the normaliser by (3.52), or by quadrature."""

MEAN_FIELD, FULL = "mean field", "full covariance"
"""Settings of ADVI."""
