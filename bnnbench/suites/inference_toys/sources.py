"""Names of the sources of claims."""

from __future__ import annotations

BOOK = "Cinelli et al. (2021)"

LECTURE = "Alvarez's lecture"

THESIS = "Lam (2018)"
