"""How the toys' claims name what they quote."""

from __future__ import annotations

BOOK = "Cinelli et al. (2021)"

LECTURE = "Alvarez's lecture"

THESIS = "Lam (2018)"
