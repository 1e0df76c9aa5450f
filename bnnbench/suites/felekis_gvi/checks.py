"""Rules for the claims of the GVI thesis: each function returns a criterion in words and its check.

The thesis compares box plots of splits, so most rules use medians and spreads, on which few failed
splits have no influence. No claim is decided by them alone: it also needs significant correlated
t-tests, t-tests over data sets, or a count that chance does not explain. Only the toy, one data set
without repetitions, has no test (`toy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from bnnbench.report.sections.divergence_orders import losses_by_order
from bnnbench.results.claims.claims import (
    BY_SIGN_TEST,
    CORRECTED,
    MAJORITY,
    CheckResult,
    NotTestable,
    Rule,
    all_hold,
    compare_together,
    count_datasets,
    count_outcomes,
    decide_by_splits,
    describe_outcomes,
    is_significant_majority,
    more_better,
)
from bnnbench.results.claims.mean_tests import LEVEL, check_positive, independent_values, positive
from bnnbench.results.compare.outcomes import SIGNIFICANT
from bnnbench.results.compare.significance import describe_shared_splits, rope_width
from bnnbench.results.metric_table import BY_KEY, printed_in
from bnnbench.suites.felekis_gvi.comparison import DIVERGENCES, NAMES, SCORES, ThesisRuns

Names = tuple[str, ...]
"""Contenders of the comparison, by our names."""

NLL = ("log_likelihood",)

DATA_SETS = "data sets"


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


def compare_at_depth(
    pairs: pd.DataFrame, names: Names, others: Names, depth: int, metrics: Names = SCORES
) -> pd.DataFrame:
    """Return `compare_together` of some contenders with others, at one depth."""
    rows = pairs[(pairs["depth"] == depth) & pairs["metric"].isin(metrics)]
    return compare_together(rows, names, others)


def mean_ranks(table: pd.DataFrame) -> str:
    """Return the mean ranks of the columns of `scores_at_depth` in words, best first."""
    mean = table.rank(axis=1).mean().sort_values(kind="stable")
    text = ", ".join(f"{NAMES[str(n)]} {value:.1f}" for n, value in mean.items())
    return f"mean ranks: {text} ({count_datasets(table.index.get_level_values(0).nunique())})"


def is_better(a: str, b: str, depth: int, metrics: Names = SCORES) -> Rule:
    """`a` is better than `b` at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        table = scores_at_depth(suite.medians, (a, b), depth, metrics)
        better = int((table[a] < table[b]).sum())
        rows = compare_at_depth(suite.pairs, (a,), (b,), depth, metrics)
        tests = describe_outcomes(count_outcomes(rows, a, b)) if len(rows) else "no t-test"

        def decide(rows: pd.DataFrame) -> bool | None:
            holds = more_better(count_outcomes(rows, a, b))
            return None if holds and better < MAJORITY * len(table) else holds

        evidence = f"better median in {better} of {len(table)}; {tests}"
        return decide_by_splits(rows, decide), evidence

    return Rule(
        f"{NAMES[a]} is significantly better in more data sets x {join_metrics(metrics)} than "
        f"worse ({CORRECTED}), and has the better median in three quarters; contradicted if it is "
        "significantly worse in more",
        check,
    )


def is_not_worse(names: Names, b: str, depth: int) -> Rule:
    """Each of the names is as good as `b` or better, at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        rows = compare_at_depth(suite.pairs, names, (b,), depth)
        if set(rows["a"]) < set(names):
            raise missing_runs((*names, b), depth)

        def decide(rows: pd.DataFrame) -> bool | None:
            counts = [count_outcomes(rows, name, b) for name in names]
            if any(one["better"] < one["worse"] for one in counts):
                return False
            shown = (one["better"] + one["equivalent"] >= MAJORITY * one.total() for one in counts)
            return all(shown) or None

        parts = (f"{NAMES[name]} {describe_outcomes(count_outcomes(rows, name, b))}"
                 for name in names)  # fmt: skip
        evidence = f"against {NAMES[b]}: {'; '.join(parts)} ({describe_shared_splits(rows)})"
        return decide_by_splits(rows, decide), evidence

    return Rule(
        f"each is significantly better than {NAMES[b]}, or equivalent, in three quarters of data "
        "sets x RMSE and NLL, and significantly worse in no more than it is better "
        f"({CORRECTED}); contradicted if one is significantly worse in more",
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
    outsiders = tuple(name for name in among if name not in names)

    def check(suite: ThesisRuns) -> CheckResult:
        table = scores_at_depth(suite.medians, among, depth, metrics)
        pairs = suite.pairs[suite.pairs["dataset"].isin(table.index.unique(0))]
        rows = compare_at_depth(pairs, names, outsiders, depth, metrics)

        def outcomes(rows: pd.DataFrame) -> dict[str, list[bool | None]]:
            return {
                outsider: [more_better(count_outcomes(rows, name, outsider)) for name in names]
                for outsider in outsiders
            }

        def decide(rows: pd.DataFrame) -> bool | None:
            found = outcomes(rows).values()
            if any(ahead.count(last) > len(names) - n_ranks for ahead in found):
                return False
            return all(ahead.count(not last) >= n_ranks for ahead in found) or None

        parts = (f"{NAMES[outsider]} {ahead.count(True)}, {ahead.count(False)}"
                 for outsider, ahead in outcomes(rows).items())  # fmt: skip
        evidence = f"number of {join_names(names)} better, worse than: {'; '.join(parts)}"
        return decide_by_splits(rows, decide), f"{evidence}; {mean_ranks(table)}"

    n_spare = len(names) - n_ranks
    some, more = f"at least {n_ranks} of ", f"more than {n_spare} of " if n_spare else "any of "
    if len(names) == 1:
        some = more = ""
    words = ("better", "worse") if last else ("worse", "better")
    return Rule(
        f"each of the other {len(outsiders)} contenders is {words[0]} than {some}"
        f"{join_names(names)}; contradicted if one is {words[1]} than {more}{join_names(names)}; "
        f"better: significantly better in more data sets x {join_metrics(metrics)} than worse "
        f"({CORRECTED})",
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
        holds, opposite = (change > 0, change < 0) if spread else (change < 0, change > 0)
        total, contrary = (int(one.to_numpy().sum()) for one in (holds, opposite))
        by_name = ", ".join(f"{NAMES[name]} {holds[name].sum()}" for name in names)
        evidence = f"{'larger' if spread else 'better'} in {total} of {holds.size}"
        evidence += f": {by_name}" * (len(names) > 1)
        equal = holds.size - total - contrary
        return is_significant_majority(total, contrary, equal), evidence

    condition = "standard deviation over splits is larger" if spread else "median is better"
    return Rule(
        f"the {condition} than with one layer less in three quarters of "
        f"{'contenders x ' * (len(names) > 1)}data sets x {join_metrics(metrics)}{BY_SIGN_TEST}",
        check,
    )


def most_are_better(b: str, dataset: str, depth: int) -> Rule:
    """Most divergences are better than `b` on one data set, at one depth."""

    def check(suite: ThesisRuns) -> CheckResult:
        others = tuple(name for name in DIVERGENCES if name != b)
        pairs = suite.pairs[suite.pairs["dataset"] == dataset]
        rows = compare_at_depth(pairs, others, (b,), depth)
        if set(rows["a"]) < set(others):
            raise missing_runs(DIVERGENCES, depth)
        evidence = "; ".join(
            f"{word} in {join_metrics((metric,))}: {join_names(list(own['a'])) or 'none'}"
            for word in SIGNIFICANT
            for metric in SCORES
            for own in [rows[(rows["metric"] == metric) & (rows["outcome"] == word)]]
        )

        def decide(rows: pd.DataFrame) -> bool | None:
            better, worse = (int((rows["outcome"] == word).sum()) for word in SIGNIFICANT)
            if better >= MAJORITY * len(rows):
                return True
            return False if worse > (1 - MAJORITY) * len(rows) else None

        return decide_by_splits(rows, decide), f"significantly {evidence}"

    return Rule(
        f"on {dataset} the other divergences are significantly better than {NAMES[b]} in three "
        f"quarters of divergences x RMSE and NLL ({CORRECTED}); contradicted if they are "
        "significantly worse in more than the rest",
        check,
    )


def is_best(names: Names, rivals: Names, depth: int) -> Rule:
    """The names together have a better mean rank than each of their rivals at one depth.

    The average is used because the thesis does not name a single divergence.
    """

    def check(suite: ThesisRuns) -> CheckResult:
        table = scores_at_depth(suite.medians, (*names, *rivals), depth)
        # RMSE and NLL of one data set are not independent.
        ranks = table.rank(axis=1).groupby(level=0).mean()
        together = ranks[list(names)].mean(axis=1)
        tests, parts = zip(
            *(
                independent_values(ranks[rival] - together, DATA_SETS, f"rank of {NAMES[rival]}")
                for rival in rivals
            ),
            strict=True,
        )
        evidence = f"less mean rank of {join_names(names)}: {'; '.join(parts)}"
        return all_hold(positive(tests)), evidence

    return Rule(
        f"the mean rank of {join_names(names)} is better than the rank of each of "
        f"{join_names(rivals)} (ranks of medians, averaged over RMSE and NLL; t-tests over data "
        f"sets, p below {LEVEL} after Holm's correction); contradicted if it is worse than one",
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
        start, end = before[common].abs(), after[common].abs()
        # Between -1 and 1, so that no data set dominates.
        holds, test = check_positive((start - end) / (start + end), DATA_SETS, "relative decrease")
        return holds, f"difference of RMSE: {evidence}; {test}"

    return Rule(
        f"the difference between the mean of the median RMSE of {join_names(names)} and that of "
        f"{join_names(to)} is smaller than with one layer less: its decrease, divided by the sum "
        f"of both differences, is positive (t-test over data sets, p below {LEVEL})",
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
        holds = (
            is_significant_majority(*(signs.count(sign) for sign in (1, -1, 0)))
            for signs in gains.values()
        )
        return all_hold(holds), evidence

    return Rule(
        "in every family the mean score over orders above 1 is better than over orders below 1, "
        "by more than 1 % or 0.01 nats, in three quarters of data sets x RMSE and NLL"
        f"{BY_SIGN_TEST}",
        check,
    )


def best_order_is_between(low: float, high: float) -> Rule:
    """The best order lies between two numbers."""

    def check(suite: ThesisRuns) -> CheckResult:
        scores = list(scores_by_order(suite))
        kept = [losses for _, losses, rope in scores if losses.max() - losses.min() > rope]
        if not kept:
            raise NotTestable("in no family does the order matter")
        best = pd.Series([float(losses.idxmin()) for losses in kept])
        inside = int(best.between(low, high).sum())
        orders = pd.Series(order for losses in kept for order in losses.index)
        chance = float(orders.between(low, high).mean())
        evidence = (
            f"best order inside in {inside} of {len(best)}, {chance:.0%} by chance, median "
            f"{best.median():g}; {len(scores) - len(kept)} left out"
        )
        return is_significant_majority(inside, len(best) - inside, chance=chance), evidence

    return Rule(
        f"the order with the best mean is between {low:g} and {high:g} in three quarters of "
        f"families x data sets x RMSE and NLL{BY_SIGN_TEST}; chance is the share of orders between "
        "these; cases whose orders all agree within 1 % or 0.01 nats are left out",
        check,
    )
