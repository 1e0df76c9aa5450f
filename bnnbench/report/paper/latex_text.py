"""Text of a LaTeX table: escaped, and its approximate width."""

from __future__ import annotations

import re

from bnnbench.report.renderers.latex import cell

SYMBOLS = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "varepsilon", "eta", "theta", "kappa"),
    *("lambda", "mu", "nu", "pi", "rho", "sigma", "tau", "phi", "varphi", "chi", "psi", "omega"),
    *("Gamma", "Delta", "Lambda", "Sigma", "Phi", "Psi", "Omega", "ell", "infty", "pm", "times"),
    *("cdot", "le", "ge", "approx", "to", "dagger", "ddagger", "hat", "bar", "tilde", "mathrm"),
    *("mathbf", "mathcal", "mathbb"),
)
"""Commands in formulas of names. Others could read a file or run a program."""

FORMULA = re.compile(rf"(\$(?:[^$\\^%#&]|\^(?!\^)|\\(?:{'|'.join(SYMBOLS)})(?![A-Za-z]))+\$)")

GLYPH_WIDTHS = {
    **dict.fromkeys("ijl'`.,:;!<[]", 0.28),
    **dict.fromkeys("fI- _", 0.36),
    **dict.fromkeys("rst()", 0.39),
    **dict.fromkeys("cez", 0.45),
    **dict.fromkeys("0123456789ao?>", 0.5),
    **dict.fromkeys("wvCEFLPRTZ", 0.73),
    **dict.fromkeys("GKOQ+=@&~^", 0.79),
    **dict.fromkeys("m%#", 0.84),
    **dict.fromkeys("MW|", 1.03),
}
"""Character widths in Computer Modern, in ems, where they differ from the defaults below."""

CAPITAL_WIDTH, DEFAULT_WIDTH, SYMBOL_WIDTH = 0.76, 0.56, 0.84
"""Widths of other capitals, of other characters, and of commands in formulas, in ems."""


def escaped(text: str) -> str:
    """Escape text for LaTeX, except formulas of `SYMBOLS` between two `$`."""
    parts = FORMULA.split(text)
    return "".join(part if place % 2 else cell(part) for place, part in enumerate(parts))


def text_ems(text: str) -> float:
    """Approximate width of a string, which `escaped` escapes, in ems of a ten-point font."""
    parts = FORMULA.split(text)
    return sum(map(_formula_ems, parts[1::2])) + sum(map(_plain_ems, parts[::2]))


def _formula_ems(text: str) -> float:
    rest, symbols = re.subn(r"\\[A-Za-z]+", "", text.strip("$"))
    return SYMBOL_WIDTH * symbols + _plain_ems(re.sub(r"[\s{}^_]", "", rest))


def _plain_ems(text: str) -> float:
    return sum(
        GLYPH_WIDTHS.get(sign, CAPITAL_WIDTH if sign.isupper() else DEFAULT_WIDTH) for sign in text
    )
