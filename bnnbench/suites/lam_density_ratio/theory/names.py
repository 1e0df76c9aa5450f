"""Names in answers and tables that the experiment and its page share, without torch."""

from __future__ import annotations

FUNCTIONALS = "functionals"
"""Table of losses at one point: `divergence`, `estimator`, `output` and `loss`."""

# Quantities and approximations of answers; some are templates.
MIN_EXCESS = "smallest excess of a {}"
IN_PRE_ACTIVATION = "{} derivative in the pre-activation, largest difference"
ALL_ESTIMATORS = "D, r and T"
