"""Rules for the claims of the GVI thesis: each function returns a criterion in words and its check.

Scores are compared by medians over splits, as in the thesis's box plots, because a few failed
splits dominate the means. Claims about two contenders are also tested by correlated t-tests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pandas as pd

from bnnbench.report.sections.divergence_orders import losses_by_order
from bnnbench.report.sections.interval_coverage import SMALL_HALF_WIDTH
from bnnbench.results.claims import (
    MAJORITY,
    OTHERWISE,
    CheckResult,
    NotTestable,
    Rule,
    all_hold,
    count_datasets,
    describe_outcomes,
    head_to_head,
    is_majority,
    more_better,
    most_hold,
)
from bnnbench.results.metrics import BY_KEY, printed_in
from bnnbench.results.significance import describe_shared_splits, rope_width
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, SCORES, ThesisRuns

Names = tuple[str, ...]
"""Contenders of the comparison, by our names."""

NLL = ("log_likelihood",)

TOY_DEPTHS = (1, 2, 3)

WELL_CALIBRATED = 0.1
"""The thesis's bound on the difference in coverage at one standard deviation."""


def join_names(names: Sequence[str]) -> str:
    """Return the thesis's names, separated by commas."""
    return ", ".join(NAMES[name] for name in names)


def join_metrics(metrics: Sequence[str]) -> str:
    """Return `RMSE and NLL`."""
    return " and ".join(BY_KEY[metric].loss for metric in metrics)


def missing_runs(names: Sequence[str], depth: int) -> NotTestable:
    """Return the error for a claim whose runs are missing."""
    return NotTestable(f"no data set has runs of {join_names(names)} at depth {depth}")


def scores_at_depth(
    scores: pd.DataFrame, names: Names, depth: int, metrics: Names = SCORES
) -> pd.DataFrame:
    """Return the scores on the data sets that have all names at this depth.

    `scores` are `medians` or `spreads` of `ThesisRuns`.

    Returns:
        Rows are data sets x scores, columns names.

    Raises:
        NotTestable: if there are none.
    """
    if scores.empty or depth not in scores.index.unique("depth"):
        raise missing_runs(names, depth)
    wide = scores.xs(depth, level="depth").stack().unstack("name").reindex(columns=list(names))
    rows = wide[wide.index.get_level_values(1).isin(metrics)].dropna()
    if rows.empty:
        raise missing_runs(names, depth)
    return rows


def rank_medians(table: pd.DataFrame) -> tuple[pd.Series, str]:
    """Return the mean ranks of the columns of `scores_at_depth`, best first, also as text."""
    mean = table.rank(axis=1).mean().sort_values(kind="stable")
    text = ", ".join(f"{NAMES[str(n)]} {value:.1f}" for n, value in mean.items())
    return mean, f"mean ranks: {text} ({count_datasets(table.index.get_level_values(0).nunique())})"


def is_better(a: str, b: str, depth: int, metrics: Names = SCORES) -> Rule:
    """`a` is better than `b` at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        table = scores_at_depth(suite.medians, (a, b), depth, metrics)
        better = int((table[a] < table[b]).sum())
        rows = suite.pairs[(suite.pairs["depth"] == depth) & suite.pairs["metric"].isin(metrics)]
        tested, counts = head_to_head(rows, a, b)
        tests = describe_outcomes(counts) if len(tested) else "no t-test"
        evidence = f"better median in {better} of {len(table)}; {tests}"
        holds = more_better(counts)
        return None if holds and better < MAJORITY * len(table) else holds, evidence

    return Rule(
        f"{NAMES[a]} is significantly better in more data sets x {join_metrics(metrics)} than "
        "worse, and has the better median in three quarters; contradicted if it is significantly "
        "worse in more",
        check,
    )


def is_not_worse(names: Names, b: str, depth: int) -> Rule:
    """Each of the names is as good as `b` or better, at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        parts, holds = [], []
        rows = suite.pairs[suite.pairs["depth"] == depth]
        for name in names:
            tests, counts = head_to_head(rows, name, b)
            if tests.empty:
                raise missing_runs((*names, b), depth)
            parts.append(f"{NAMES[name]} {describe_outcomes(counts)}")
            shown = counts["better"] + counts["equivalent"]
            enough = shown >= MAJORITY * len(tests) and counts["better"] >= counts["worse"]
            holds.append(enough or (None if counts["better"] >= counts["worse"] else False))
        compared = rows[rows[["a", "b"]].isin([*names, b]).all(axis=1)]
        evidence = f"against {NAMES[b]}: {'; '.join(parts)} ({describe_shared_splits(compared)})"
        return all_hold(holds), evidence

    return Rule(
        f"each is significantly better than {NAMES[b]}, or equivalent, in three quarters of data "
        "sets x RMSE and NLL, and significantly worse in no more than it is better; contradicted "
        "if one is significantly worse in more",
        check,
    )


def has_rank(
    names: Names,
    among: Names,
    depth: int,
    n_ranks: int = 1,
    *,
    last: bool = False,
    metrics: Names = SCORES,
) -> Rule:
    """The first or last ranks among some contenders belong to the names, at one depth.

    Args:
        names: the contenders of the claim, at least as many as ranks.
        among: all contenders.
        depth: number of hidden layers.
        n_ranks: number of ranks; each must belong to one of the names.
        last: whether the last ranks are meant.
        metrics: scores compared.
    """

    def check(suite: ThesisRuns) -> CheckResult:
        mean, evidence = rank_medians(scores_at_depth(suite.medians, among, depth, metrics))
        ends = mean.index[-n_ranks:] if last else mean.index[:n_ranks]
        return set(ends) <= set(names), evidence

    end = "last" if last else "first"
    condition = f"ranks {end}" if n_ranks == 1 else f"take the {end} {n_ranks} ranks"
    if len(names) > n_ranks:
        condition = f"one of {join_names(names)} ranks {end}"
    return Rule(
        f"{condition} of {len(among)} by the rank of medians, averaged over data sets x "
        f"{join_metrics(metrics)}",
        check,
    )


def improves(names: Names, depth: int, metrics: Names = SCORES, *, spread: bool = False) -> Rule:
    """One more layer improves medians, or increases the spread over splits.

    Args:
        names: the contenders of the claim.
        depth: number of hidden layers, compared with one layer less.
        metrics: scores compared.
        spread: whether standard deviations over splits must increase, rather than medians improve.
    """

    def check(suite: ThesisRuns) -> CheckResult:
        scores = suite.spreads if spread else suite.medians
        before, after = (
            scores_at_depth(scores, names, layers, metrics) for layers in (depth - 1, depth)
        )
        common = before.index.intersection(after.index)
        if common.empty:
            raise missing_runs(names, depth)
        change = after.loc[common] - before.loc[common]
        holds = (change > 0) if spread else (change < 0)
        total = int(holds.to_numpy().sum())
        by_name = ", ".join(f"{NAMES[name]} {holds[name].sum()}" for name in names)
        evidence = f"{'larger' if spread else 'better'} in {total} of {holds.size}"
        evidence += f": {by_name}" * (len(names) > 1)
        return is_majority(total, holds.size), evidence

    condition = "standard deviation over splits is larger" if spread else "median is better"
    return Rule(
        f"the {condition} than with one layer less in three quarters of "
        f"{'contenders x ' * (len(names) > 1)}data sets x {join_metrics(metrics)}{OTHERWISE}",
        check,
    )


def most_are_better(b: str, dataset: str, depth: int) -> Rule:
    """Most divergences are better than `b` on one data set, at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        table = scores_at_depth(suite.medians, DIVERGENCES, depth)
        table = table[table.index.get_level_values(0) == dataset]
        if table.empty:
            raise missing_runs(DIVERGENCES, depth)
        better = table.drop(columns=b).lt(table[b], axis=0)
        evidence = "; ".join(
            f"{join_metrics((str(metric),))}: {join_names(list(row.index[row])) or 'none'}"
            for (_, metric), row in better.iterrows()
        )
        total = int(better.to_numpy().sum())
        return is_majority(total, better.size), f"better: {evidence}"

    return Rule(
        f"on {dataset} three quarters of the other divergences x RMSE and NLL have a better "
        f"median than {NAMES[b]}{OTHERWISE}",
        check,
    )


def is_best(names: Names, rivals: Names, depth: int) -> Rule:
    """The names together have a better mean rank than each of their rivals at one depth.

    The average is used because the thesis does not name a single divergence.
    """

    def check(suite: ThesisRuns) -> CheckResult:
        mean, evidence = rank_medians(scores_at_depth(suite.medians, (*names, *rivals), depth))
        together = mean[list(names)].mean()
        return bool(
            together < mean[list(rivals)].min()
        ), f"{join_names(names)} {together:.1f} on average; {evidence}"

    return Rule(
        f"the mean rank of {join_names(names)} is better than that of each of "
        f"{join_names(rivals)} (ranks of medians, averaged over data sets x RMSE and NLL)",
        check,
    )


def gets_closer(names: Names, to: Names, depth: int) -> Rule:
    """One more layer brings the RMSE of some contenders closer to that of others."""

    def check(suite: ThesisRuns) -> CheckResult:
        gaps = []
        for layers in (depth - 1, depth):
            table = scores_at_depth(suite.medians, (*names, *to), layers, ("rmse",))
            gap = table[list(names)].mean(axis=1) - table[list(to)].mean(axis=1)
            gaps.append(gap.droplevel(1))
        before, after = gaps
        common = before.index.intersection(after.index)
        evidence = ", ".join(f"{d} from {before[d]:+.2f} to {after[d]:+.2f}" for d in common)
        nearer = (after[common].abs() < before[common].abs()).sum()
        return is_majority(int(nearer), len(common)), f"difference of RMSE: {evidence}"

    return Rule(
        "in three quarters of data sets the mean of the median RMSE of "
        f"{join_names(names)} is closer to that of {join_names(to)} than with one layer less"
        f"{OTHERWISE}",
        check,
    )


def scores_by_order(suite: ThesisRuns) -> Iterator[tuple[str, pd.Series, float]]:
    """Yield family, mean losses by order, and the ROPE, for each family, data set and metric."""
    for (family, _), group in suite.orders.groupby(["divergence_family", "dataset"], sort=False):
        for metric in printed_in("figures"):
            losses = losses_by_order(group, metric)
            if len(losses):
                yield str(family), losses, rope_width(metric, losses.abs().mean())


def large_orders_are_better() -> Rule:
    """Scores are better for orders above 1 than for those below, in every family."""

    def check(suite: ThesisRuns) -> CheckResult:
        gains: dict[str, list[int]] = {}
        for family, score, rope in scores_by_order(suite):
            low, high = score[score.index < 1].mean(), score[score.index > 1].mean()
            if pd.notna(low) and pd.notna(high):
                gain = int(low - high > rope) - int(high - low > rope)
                gains.setdefault(family, []).append(gain)
        if not gains:
            raise NotTestable("no family has orders on both sides of 1")
        evidence = "; ".join(
            f"{NAMES.get(family, family)} better in {signs.count(1)}, worse in {signs.count(-1)}, "
            f"equal in {signs.count(0)}"
            for family, signs in gains.items()
        )
        decisions = {1: True, 0: None, -1: False}
        holds = all_hold(most_hold(decisions[sign] for sign in s) for s in gains.values())
        return holds, evidence

    return Rule(
        "in every family the mean score over orders above 1 is better than over orders below 1, "
        "by more than 1 % or 0.01 nats, in three quarters of data sets x RMSE and NLL",
        check,
    )


def best_order_is_between(low: float, high: float) -> Rule:
    """The best order lies between two numbers."""

    def check(suite: ThesisRuns) -> CheckResult:
        scores = list(scores_by_order(suite))
        best = [float(s.idxmin()) for _, s, rope in scores if s.max() - s.min() > rope]
        if not best:
            raise NotTestable("in no family does the order matter")
        inside, excluded = sum(low <= order <= high for order in best), len(scores) - len(best)
        middle = pd.Series(best).median()
        evidence = f"best order inside in {inside} of {len(best)}, median {middle:g}; "
        evidence += f"{excluded} left out"
        return is_majority(inside, len(best)), evidence

    return Rule(
        f"the order with the best mean is between {low:g} and {high:g} in three quarters of "
        "families x data sets x RMSE and NLL, except those whose orders all agree within 1 % or "
        f"0.01 nats{OTHERWISE}",
        check,
    )


def toy_at_depth(table: pd.DataFrame, names: Sequence[str], depth: int) -> pd.DataFrame:
    """Return the toy's rows of these names at one depth, indexed by name.

    Raises:
        NotTestable: unless all exist.
    """
    if table.empty:
        raise missing_runs(names, depth)
    rows = table[(table["depth"] == depth) & table["name"].isin(names)]
    rows = rows.set_index("name")
    if not (rows.index.is_unique and set(names) <= set(rows.index)):
        raise missing_runs(names, depth)
    return rows.loc[list(names)]


def best_calibrated(names: Names, depth: int) -> Rule:
    """These divergences are the best calibrated on the toy at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        difference = toy_at_depth(suite.sigma, DIVERGENCES, depth)["difference"]
        evidence = ", ".join(
            f"{NAMES[str(name)]} {value:.2f}"
            for name, value in difference.sort_values(kind="stable").items()
        )
        is_named = difference.index.isin(names)
        limit = min(WELL_CALIBRATED, difference[~is_named].min())
        return bool(difference[is_named].max() <= limit), f"difference of coverage: {evidence}"

    return Rule(
        f"of {len(DIVERGENCES)} divergences, these have the smallest differences between "
        f"coverage at one standard deviation and 0.68, each at most {WELL_CALIBRATED}",
        check,
    )


def coverage_rises(names: Names, *, falls: bool = False) -> Rule:
    """Coverage at one standard deviation rises, or falls, from one hidden layer to three."""

    def check(suite: ThesisRuns) -> CheckResult:
        rows = [toy_at_depth(suite.sigma, names, depth)["inside_1"] for depth in TOY_DEPTHS]
        table = pd.concat(rows, axis=1)
        change = table.iloc[:, -1] - table.iloc[:, 0]
        n_holds = int(((change < 0) if falls else (change > 0)).sum())
        evidence = "; ".join(
            f"{NAMES[str(name)]} {', '.join(f'{coverage:.2f}' for coverage in row)}"
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        )
        word = "lower" if falls else "higher"
        return is_majority(n_holds, len(table)), f"{word} in {n_holds} of {len(table)}: {evidence}"

    most = f" for three quarters of them{OTHERWISE}" if len(names) > 1 else ""
    return Rule(
        f"coverage at one standard deviation is {'lower' if falls else 'higher'} at depth "
        f"{TOY_DEPTHS[-1]} than at depth {TOY_DEPTHS[0]}{most}",
        check,
    )


def small_intervals_fail() -> Rule:
    """Small intervals contain too few targets, which is overconfident."""

    def check(suite: ThesisRuns) -> CheckResult:
        low = {}
        for depth in TOY_DEPTHS:
            with suppress(NotTestable):
                rows = toy_at_depth(suite.sigma, DIVERGENCES, depth)
                if len(excess := rows["small_interval_excess"].dropna()):
                    low[depth] = excess < 0
        if not low:
            raise missing_runs(DIVERGENCES, 1)
        evidence = ", ".join(
            f"too narrow in {sum(is_low)} of {len(is_low)} at depth {d}"
            for d, is_low in low.items()
        )
        all_low = pd.concat(low)
        return is_majority(int(all_low.sum()), len(all_low)), evidence

    return Rule(
        "coverage is below a Gaussian's on average over half-widths of 0.1 to "
        f"{SMALL_HALF_WIDTH - 0.1:g} standard deviations, for three quarters of divergences x "
        f"depths{OTHERWISE}",
        check,
    )


def one_layer_is_best() -> Rule:
    """Every criterion of every divergence is smallest with one hidden layer."""

    def check(suite: ThesisRuns) -> CheckResult:
        table = suite.criteria
        table = table[table["name"].isin(DIVERGENCES)] if len(table) else table
        if table.empty or table["depth"].nunique() < 2:
            raise NotTestable("the toy was not run at two depths")
        criteria = table.melt(["name", "depth"], ["bic", "aic", "hqc"])
        best = criteria.loc[criteria.groupby(["name", "variable"])["value"].idxmin(), "depth"]
        return bool((best == 1).all()), f"smallest at depth 1 in {(best == 1).sum()} of {len(best)}"

    return Rule("BIC, AIC and HQC of every divergence are smallest at depth 1", check)
