"""Which two densities the estimator of the sprinkler tells apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bnnbench.checks import check_choice
from bnnbench.identity import no_identity


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Which densities are held against each other.

    Attributes:
        label: `prior`: draws of q and of the prior at the same observation, whose ratio the ELBO
            lacks where q is implicit (4.1.2). `joint`: pairs of causes and observation, so that
            the likelihood may be implicit too (4.1.4).
        protocol: what protocols set otherwise for it.
    """

    label: str
    summary: str = no_identity("")
    protocol: Any = no_identity(None)

    def __post_init__(self) -> None:
        check_choice("contrast.label", self.label, ("prior", "joint"))
