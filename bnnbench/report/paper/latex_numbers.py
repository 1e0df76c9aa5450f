"""Numbers of a LaTeX table with their decimal points below each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from bnnbench.report.blocks import MISSING
from bnnbench.report.paper.column_shape import ColumnShape, PrintedCell, split_number
from bnnbench.report.renderers.latex import cell

SYMBOLS = {"‡": r"\ddagger"}
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
        ems: the approximate width of a column with bold digits, in ems of a ten-point font.
    """

    packages: str
    setup: tuple[str, ...]
    column: Callable[[ColumnShape], str]
    score: Callable[[PrintedCell, ColumnShape], str]
    ems: Callable[[ColumnShape], float]


def shape_ems(widths: Mapping[str, float], shape: ColumnShape) -> float:
    """Return the width of a shape with bold digits, in ems; `widths` are of other characters."""
    width = sum(widths.get(sign, BOLD_DIGIT_WIDTH) for sign in shape.text)
    return width + MARK_WIDTH * shape.marked


def padded_score(score: PrintedCell, shape: ColumnShape) -> str:
    """Return a score; all of one column have the same width."""
    if score.mean == MISSING:
        return cell(MISSING)
    mean, after = padded(score.mean, shape.sign, shape.whole, shape.fraction, score.best)
    text = mean
    if score.error:
        parts = score.error, "", shape.error_whole, shape.error_fraction
        error, after_error = padded(*parts, score.best)
        text, after = rf"{mean}{after} \pm {error}", after_error
    elif shape.error_whole:
        after += pad(rf"{{}} \pm {shape.error_whole}{shape.error_fraction}")
    bold = rf"\mathbf{{{text}}}" if score.best else text
    mark = rf"\sig{{{symbol(score)}}}" if shape.marked else ""
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
        return f"{{{cell(MISSING)}}}"
    bold = r"\boldmath " if score.best else ""
    error = f" +- {score.error}" if score.error else ""
    if error and len(split_number(score.mean)[1]) < len(split_number(score.error)[1]):
        error = rf" {{\mbox{{${{}} \pm {score.error}$}}}}"
    mark = f" {{$^{{{symbol(score)}}}$}}" if score.mark else ""
    return bold + score.mean + error + mark


def symbol(score: PrintedCell) -> str:
    """Return the mark of a score in math mode."""
    return SYMBOLS.get(score.mark, score.mark)


PADDED = NumberFormat(
    packages=r"% Needs \usepackage{booktabs}.",
    setup=(
        r"\def\pad#1{\phantom{\mathbf{#1}}}% space as wide as bold digits",
        r"\def\reg#1#2{\pad{#1}\llap{$#1$}\rlap{$#2$}\pad{#2}}% regular digits in this space",
        r"\def\sig#1{\rlap{$^{#1}$}\phantom{^{+}}}% a mark",
    ),
    column=lambda shape: "c",
    score=padded_score,
    ems=partial(shape_ems, BOLD_WIDTHS),
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
    ems=partial(shape_ems, BOLD_MATH_WIDTHS),
)
"""Columns `S` of the package siunitx."""
