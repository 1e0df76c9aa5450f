"""Cells of a paper's table in LaTeX: rounded numbers, aligned in columns, and escaped text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_high

from bnnbench.notes import decimals_of
from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.paper_table import ScoreCell
from bnnbench.report.renderers import latex

ERROR_DIGITS = 2
"""Significant digits of the median standard error of a column."""

MEAN_DIGITS = 4
"""Significant digits of the median mean of a column without standard errors."""


@dataclass(frozen=True)
class PrintedCell:
    """A formatted cell."""

    mean: str
    error: str = ""
    best: bool = False
    mark: str = ""

    @property
    def error_digits(self) -> int:
        """The number of significant digits of the standard error."""
        return len(self.error.replace(".", "").lstrip("0"))


def split_number(text: str) -> tuple[str, str]:
    """Split a number at its decimal point, which belongs to the second part."""
    whole, point, decimals = text.partition(".")
    return whole, point + decimals


@dataclass(frozen=True)
class ColumnShape:
    """A number as long as the longest parts of all cells in a column.

    Attributes:
        sign: `-` if a mean is negative.
        whole: zeros for the digits before the decimal point of a mean.
        fraction: the decimal point and zeros for the decimals of a mean.
        error_whole: as `whole`, for a standard error.
        error_fraction: as `fraction`, for a standard error.
        marked: whether a cell has a mark.
    """

    sign: str = ""
    whole: str = ""
    fraction: str = ""
    error_whole: str = ""
    error_fraction: str = ""
    marked: bool = False

    @classmethod
    def of(cls, cells: Iterable[PrintedCell]) -> ColumnShape:
        """Return the shape of a column."""
        cells = [cell for cell in cells if cell.mean != MISSING]
        means = [split_number(cell.mean) for cell in cells]
        errors = [split_number(cell.error) for cell in cells]
        return cls(
            sign="-" if any(whole.startswith("-") for whole, _ in means) else "",
            whole=longest(whole.removeprefix("-") for whole, _ in means),
            fraction=longest(fraction for _, fraction in means),
            error_whole=longest(whole for whole, _ in errors),
            error_fraction=longest(fraction for _, fraction in errors),
            marked=any(cell.mark for cell in cells),
        )


def longest(digits: Iterable[str]) -> str:
    """Return the longest text, with zeros as digits."""
    found = max(digits, key=len, default="")
    return "".join("0" if sign.isdigit() else sign for sign in found)


def column_decimals(cells: Sequence[ScoreCell]) -> int:
    """Return the number of decimals of all numbers in a column.

    The median standard error (the upper one of two) has two significant digits. There are more
    decimals only if the smallest standard error would otherwise be rounded to zero. Without
    standard errors, the median mean has four significant digits.
    """
    errors = [cell.stderr for cell in cells if cell.stderr > 0]
    if errors:
        shown = decimals_of(median_high(errors), ERROR_DIGITS)
        return max(shown, decimals_of(min(errors), 1))
    means = [abs(cell.mean) for cell in cells if math.isfinite(cell.mean) and cell.mean]
    return decimals_of(median_high(means), MEAN_DIGITS) if means else 0


def format_cell(cell: ScoreCell, decimals: int) -> tuple[str, str]:
    """Format the mean and the standard error of a cell.

    Args:
        cell: the score.
        decimals: of the column. A published mean keeps its own number of decimals if it has fewer.

    Returns:
        The mean, or a dash if it is missing, and the error, or an empty string.
    """
    if not math.isfinite(cell.mean):
        return MISSING, ""
    own = decimals if cell.decimals is None else min(decimals, cell.decimals)
    return f"{cell.mean:.{own}f}", f"{cell.stderr:.{decimals}f}" if cell.stderr > 0 else ""


MATH_MARKS = {"‡": r"\ddagger"}
"""Marks in math mode that are not the same as in text."""

MARK_WIDTH = 0.75
"""Width of a superscript mark in ems, at most."""

BOLD_WIDTHS = {".": 0.28, "-": 0.78, "±": 1.23}
"""Character widths of `\\mathbf` in ems, except digits."""

BOLD_MATH_WIDTHS = {".": 0.32, "-": 1.0, "±": 1.42}
"""Character widths of `\\boldmath` in ems, except digits."""

BOLD_DIGIT_WIDTH = 0.575
"""Width of a bold digit in ems."""


@dataclass(frozen=True)
class NumberFormat:
    """How the scores of a table are aligned.

    Attributes:
        packages: the required packages, as a comment.
        setup: lines before the table.
        column: the type of a column, from its shape.
        score: a cell, from the formatted score and the shape of its column.
        widths: widths of bold characters in ems, except digits.
    """

    packages: str
    setup: tuple[str, ...]
    column: Callable[[ColumnShape], str]
    score: Callable[[PrintedCell, ColumnShape], str]
    widths: Mapping[str, float]

    def ems(self, shape: ColumnShape) -> float:
        """The approximate width of a column with bold digits, in ems of a ten-point font."""
        error = f"±{shape.error_whole}{shape.error_fraction}" if shape.error_whole else ""
        text = f"{shape.sign}{shape.whole}{shape.fraction}{error}"  # such as `-00.00±0.00`
        width = sum(self.widths.get(sign, BOLD_DIGIT_WIDTH) for sign in text)
        return width + MARK_WIDTH * shape.marked


def padded_score(score: PrintedCell, shape: ColumnShape) -> str:
    """Return a score; all of one column have the same width."""
    if score.mean == MISSING:
        return latex.cell(MISSING)
    mean, after = padded(score.mean, shape.sign, shape.whole, shape.fraction, score.best)
    text = mean
    if score.error:
        parts = score.error, "", shape.error_whole, shape.error_fraction
        error, after_error = padded(*parts, score.best)
        text, after = rf"{mean}{after} \pm {error}", after_error
    elif shape.error_whole:
        after += pad(rf"{{}} \pm {shape.error_whole}{shape.error_fraction}")
    bold = rf"\mathbf{{{text}}}" if score.best else text
    mark = rf"\sig{{{MATH_MARKS.get(score.mark, score.mark)}}}" if shape.marked else ""
    return f"${bold}{mark}{after}$"


def padded(number: str, sign: str, whole: str, fraction: str, bold: bool) -> tuple[str, str]:
    r"""Return a number with the space before it, and the space after it, in math mode.

    Args:
        number: the number.
        sign: of the shape of its column, as the following parts.
        whole: zeros before the decimal point.
        fraction: the decimal point and zeros.
        bold: whether the number is bold; if not, `\reg` gives its digits the width of bold ones.
    """
    own_whole, own_fraction = split_number(number)
    digits = own_whole.removeprefix("-")
    before = pad(("" if number.startswith("-") else sign) + whole[len(digits) :])
    # Braces keep a minus after empty space from becoming a binary operator, with more space.
    text = number.replace("-", "{-}") if before else number
    aligned = text if bold else rf"\reg{{{own_whole}}}{{{own_fraction}}}"
    return before + aligned, pad(fraction[len(own_fraction) :])


def pad(text: str) -> str:
    """Return empty space as wide as a bold text."""
    return rf"\pad{{{text}}}" if text else ""


def siunitx_column(shape: ColumnShape) -> str:
    """Return a column of siunitx that is wide enough for the shape."""
    digits = len((shape.error_whole + shape.error_fraction).replace(".", ""))
    error = f"({digits})" if shape.error_whole else ""
    number = f"{shape.sign}{max(len(shape.whole), 1)}.{max(len(shape.fraction) - 1, 0)}{error}"
    room = ",table-space-text-post={$^{+}$}" if shape.marked else ""
    return rf"S[table-format={number}{room}]"


def siunitx_score(score: PrintedCell, shape: ColumnShape) -> str:
    """Return a score that siunitx aligns.

    The error of a mean with fewer decimals is text: siunitx would append zeros to the mean.
    """
    if score.mean == MISSING:
        return f"{{{latex.cell(MISSING)}}}"
    bold = r"\boldmath " if score.best else ""
    error = f" +- {score.error}" if score.error else ""
    if error and len(split_number(score.mean)[1]) < len(split_number(score.error)[1]):
        error = rf" {{\mbox{{${{}} \pm {score.error}$}}}}"
    mark = f" {{$^{{{MATH_MARKS.get(score.mark, score.mark)}}}$}}" if score.mark else ""
    return bold + score.mean + error + mark


PADDED = NumberFormat(
    packages=r"% Needs \usepackage{booktabs}.",
    setup=(
        r"\def\pad#1{\phantom{\mathbf{#1}}}% space as wide as bold digits",
        r"\def\reg#1#2{\pad{#1}\llap{$#1$}\rlap{$#2$}\pad{#2}}% regular digits in this space",
        r"\def\sig#1{\rlap{$^{#1}$}\phantom{^{+}}}% a mark",
    ),
    column=lambda shape: "c",
    score=padded_score,
    widths=BOLD_WIDTHS,
)
"""Fixed decimals and empty space; no package."""

SIUNITX = NumberFormat(
    packages=r"% Needs \usepackage{booktabs} and \usepackage{siunitx} (version 3).",
    setup=(
        r"\sisetup{separate-uncertainty,table-align-uncertainty=false,table-align-text-post=false}",
        r"\sisetup{reset-math-version=false}% for bold numbers",
    ),
    column=siunitx_column,
    score=siunitx_score,
    widths=BOLD_MATH_WIDTHS,
)
"""Columns `S` of the package siunitx."""


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
    return "".join(part if place % 2 else latex.cell(part) for place, part in enumerate(parts))


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
