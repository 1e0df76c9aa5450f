"""The table of a paper in LaTeX (booktabs)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bnnbench.report.numbers import MISSING
from bnnbench.report.paper.contents import PaperTable, spoken
from bnnbench.report.paper.layout import GAP, Block, Layout, Printed
from bnnbench.report.renderers.latex import cell
from bnnbench.results.metrics import Metric
from bnnbench.results.pairing import LEAST_SPLITS
from bnnbench.results.significance import DECIDED, ROPE

NEEDS = "% Needs \\usepackage{booktabs}."

ARROWS = {"lower": r"$\downarrow$", "higher": r"$\uparrow$"}

UNITS = {"target": "original units", "nats": "nats per test point", "s": "seconds"}


def document(table: PaperTable, layout: Layout, label: str = "results") -> str:
    """The whole file: what it needs, which runs it is of, and the table.

    Args:
        table: the contents.
        layout: one of `layouts` of it.
        label: `tab:LABEL` is what it is referred to by.
    """
    place = "table*" if layout.wide else "table"
    lines = [
        NEEDS,
        *(f"% {line}" for line in table.runs),
        rf"\begin{{{place}}}[t]",
        r"\centering",
        rf"\caption{{{caption(table)}}}\label{{tab:{label}}}",
        rf"\smallskip\{layout.size}",
        rf"\setlength{{\tabcolsep}}{{{GAP / 2:g}pt}}",
        *(stacked(layout) if layout.stacked else side_by_side(layout)),
        rf"\end{{{place}}}",
        "",
    ]
    return "\n".join(lines)


def side_by_side(layout: Layout) -> Iterator[str]:
    """A group of columns for each metric."""
    count = len(layout.heads)
    yield rf"\begin{{tabular}}{{@{{}}l*{{{count * len(layout.blocks)}}}{{r}}@{{}}}}"
    yield r"\toprule"
    groups = [rf"\multicolumn{{{count}}}{{c}}{{{title(block)}}}" for block in layout.blocks]
    yield " & ".join(["", *groups]) + r" \\"
    starts = [2 + count * place for place in range(len(layout.blocks))]
    yield "".join(rf"\cmidrule(lr){{{start}-{start + count - 1}}}" for start in starts)
    yield heads(layout, len(layout.blocks))
    yield r"\midrule"
    for place, stub in enumerate(layout.stubs):
        yield row(stub, [cell for block in layout.blocks for cell in block.rows[place]])
    yield r"\bottomrule"
    yield r"\end{tabular}"


def stacked(layout: Layout) -> Iterator[str]:
    """A group of rows for each metric."""
    count = len(layout.heads)
    yield rf"\begin{{tabular}}{{@{{}}l*{{{count}}}{{r}}@{{}}}}"
    yield r"\toprule"
    yield heads(layout, 1)
    for block in layout.blocks:
        yield r"\midrule"
        yield rf"\multicolumn{{{count + 1}}}{{@{{}}l}}{{\textit{{{title(block)}}}}} \\"
        for stub, cells in zip(layout.stubs, block.rows, strict=True):
            yield row(stub, cells)
    yield r"\bottomrule"
    yield r"\end{tabular}"


def heads(layout: Layout, times: int) -> str:
    """The names of the columns, in their middle."""
    names = [rf"\multicolumn{{1}}{{c}}{{{escaped(head)}}}" for head in layout.heads] * times
    return " & ".join([layout.corner, *names]) + r" \\"


def title(block: Block) -> str:
    """A metric and which way is better."""
    return f"{escaped(block.title)} {ARROWS[block.metric.better]}"


def row(stub: str, cells: Sequence[Printed]) -> str:
    """One line."""
    return " & ".join([escaped(stub), *map(number, cells)]) + r" \\"


def number(score: Printed) -> str:
    """A score, the best in bold."""
    if score.mean == MISSING:
        return cell(MISSING)
    text = f"{score.mean} \\pm {score.error}" if score.error else score.mean
    return rf"$\mathbf{{{text}}}$" if score.best else f"${text}$"


def escaped(text: str) -> str:
    """Words as they are to be read; what stands between two `$` is mathematics already."""
    parts = re.split(r"(\$[^$]+\$)", text)
    return "".join(part if place % 2 else cell(part) for place, part in enumerate(parts))


def caption(table: PaperTable) -> str:
    """What the numbers are, which are bold, and what is not ours."""
    kinds = [
        f"{spoken(metric, name)} ({UNITS[metric.unit]})" for metric, name in table.metrics.items()
    ]
    few, many = table.splits[0], table.splits[-1]
    splits = f"{few}" if few == many else f"{few} to {many}"
    over = f"mean ± standard error over {splits} splits" if many > 1 else "value on one split"
    parts = [f"Test {listed(kinds)}: {over}."]
    if table.rivals:
        parts.append(bold_rule(tuple(table.metrics)))
    if any(one.published for one in table.contenders):
        whose = f" ({'; '.join(table.sources)})" if table.sources else ""
        parts.append(f"† Published{whose}, neither run nor tested here.")
    if table.lost:
        parts.append(f"Splits that diverged are left out: {listed(table.lost)}.")
    return escaped(" ".join(parts))


def bold_rule(metrics: Sequence[Metric]) -> str:
    """Which numbers are bold."""
    ropes = {"nats": f"{ROPE:g} nats", "": f"{100 * ROPE:g} % of the score"}
    kinds = dict.fromkeys("nats" if metric.unit == "nats" else "" for metric in metrics)
    return (
        "Bold: the best mean, and all that a Bayesian correlated t-test on the splits of both "
        f"(Corani and Benavoli, 2015; at least {LEAST_SPLITS}) does not find worse than it, beyond "
        f"{' or '.join(ropes[kind] for kind in kinds)}, with probability over {DECIDED:g}."
    )


def listed(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)
