"""Claims of chapters 5 to 9 of the thesis on the sprinkler.

C15 and C16, on losses at a point, are lemmas; tests check them, and
`experiment=estimator_parametrisations` has their numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, pairwise

from bnnbench.experiment.store.answer_tables import Sample
from bnnbench.report.blocks import plus_minus
from bnnbench.results.claims.claims import (
    OURS,
    CheckResult,
    Claim,
    Claims,
    NotTestable,
    all_hold,
    check_claims,
    share_interval,
    undecided_share,
)
from bnnbench.results.claims.mean_tests import (
    LEVEL,
    are_within,
    positive,
    rank_test,
    significant,
    welch,
)
from bnnbench.results.compare.significance import INTERVAL
from bnnbench.results.compare.undecided import NEVER, REPETITIONS
from bnnbench.suites.lam_density_ratio.comparison import rules
from bnnbench.suites.lam_density_ratio.comparison.evidence import (
    MIN_REPETITIONS,
    SprinklerEvidence,
    thesis_evidence,
)
from bnnbench.suites.lam_density_ratio.comparison.thesis import AVERAGE_KL_FLOOR, EXACT_KL
from bnnbench.suites.lam_density_ratio.names import (
    CONTRASTS,
    DIVERGENCES,
    ESTIMATORS,
    STUCK,
    SYMBOLS,
)

MAX_FAILURES = 0.1
"""Share of failures below which "every simulation succeeds" (C4)."""

claims = Claims()


@claims(
    "C1: The prior contrast converges much faster than the joint one.",
    source="5.3",
    rule="in every available pair, the average KL of the prior contrast at half of the joint "
    "contrast's iterations, or before, is lower than the final one of the joint contrast, "
    f"{rules.RANKS} (thesis: Welch's test of the means at the end)",
)
@rules.for_every_case()
def prior_contrast_converges_faster(evidence: SprinklerEvidence) -> Iterator[rules.Case]:
    priors = (*rules.cells("optimal", "prior"), *rules.cells("undertrained", "prior"))
    pairs = [(prior, replace(prior, contrast="joint")) for prior in priors]
    found = []
    for pair in evidence.with_enough(pairs):
        prior, joint = pair
        at, total = (evidence.iterations[cell] for cell in pair)
        level, end = (evidence.sample(cell).mean for cell in pair)
        test = welch(evidence.sample(joint), evidence.sample(prior))
        if prior in evidence.runs:
            own, other = (evidence.runs[cell].curves_of("average_kl") for cell in pair)
            at = int(own.index[own.index <= total / 2].max())
            level, end = own.loc[at].median(), other.iloc[-1].median()
            test = rank_test(other.iloc[-1], own.loc[at])
        text = f"{joint.name}: {end:.4f} after {total}, with prior {level:.4f} after {at}"
        found.append((test, 2 * at <= total, text, pair))
    decisions = positive(test for test, *_ in found)
    for is_lower, (test, is_early, text, pair) in zip(decisions, found, strict=True):
        yield NEVER if is_lower and not is_early else is_lower, f"{text}, p {test.p:.2g}", pair


@claims(
    "C2: Class probability estimation beats divergence minimisation with a ReLU.",
    source="5.3, Table 5.1",
    rule=rules.LOWER_MEAN,
)
def classifier_beats_relu(evidence: SprinklerEvidence) -> CheckResult:
    return rules.is_better(
        evidence, [(rules.CLASSIFIER[c], rules.RELU[c]) for c in CONTRASTS], "5.1"
    )


@claims(
    "C3: The ReLU ratio fails in about half of the simulations.",
    source="5.3, 6.1",
    rule="between 25% and 75% of the repetitions of the ReLU ratio are stuck at -log 1e-18, over "
    f"all runs of it, with the whole exact {INTERVAL} of their share; contradicted if all of it is "
    "outside",
)
def relu_fails_often(evidence: SprinklerEvidence) -> CheckResult:
    runs, total = rules.repetitions_of(evidence, rules.ALL_RELU, "ReLU")
    stuck = sum(int((run.scores["status"] == STUCK).sum()) for run in runs)
    low, high = share_interval(stuck, total)
    text, share = rules.describe_share(stuck, total, "are stuck"), stuck / total
    if high < 0.25 or low > 0.75:
        return False, text
    ends = (0.25,) if share <= 0.25 else (0.75,) if share >= 0.75 else (0.25, 0.75)
    is_inside = low >= 0.25 and high <= 0.75
    return is_inside or undecided_share(stuck, total, REPETITIONS, *ends), text


@claims(
    "C4: With the exponential output every simulation succeeds.",
    source="6.3",
    rule="no repetition of the exponential ratio fails, and the whole exact "
    f"{INTERVAL} of their share is below {MAX_FAILURES:.0%}; contradicted if one fails",
)
def exponential_never_fails(evidence: SprinklerEvidence) -> CheckResult:
    runs, total = rules.repetitions_of(evidence, rules.EXPONENTIAL.values(), "exponential")
    failed = sum(run.failed for run in runs)
    is_rare = share_interval(failed, total)[1] < MAX_FAILURES
    open_ = undecided_share(failed, total, REPETITIONS, MAX_FAILURES)
    return not failed and (is_rare or open_), rules.describe_share(failed, total, "fail")


@claims(
    "C4: The exponential output converges better and more evenly than the ReLU.",
    source="6.3, Table 6.1",
    rule=rules.LOWER_MEAN_AND_STD,
)
def exponential_beats_relu(evidence: SprinklerEvidence) -> CheckResult:
    pairs = [(rules.EXPONENTIAL[contrast], rules.RELU[contrast]) for contrast in CONTRASTS]
    return rules.is_better(evidence, pairs, "6.1", spread=True)


@claims(
    "C5: With the exponential output, divergence minimisation is as good as class probability "
    "estimation.",
    source="6.3",
    rule=f"the difference of means is {rules.EQUIVALENT}",
)
def exponential_equals_classifier(evidence: SprinklerEvidence) -> CheckResult:
    pair = (rules.EXPONENTIAL["prior"], "6.1"), (rules.CLASSIFIER["prior"], "5.1")
    for cell, table in pair:
        evidence.with_enough([(cell,)], table)
    test = welch(*(evidence.sample(cell, table) for cell, table in pair))
    holds, (low, high) = are_within([test], rules.EQUIVALENCE_MARGIN), test.interval
    (first, _), (second, _) = pair
    text = f"{first.name} minus {second.name}: {low:+.4f} to {high:+.4f}"
    return holds, f"{text}{evidence.deviation_note((first, second))}"


@claims(
    "C6: The posterior is optimal at an average KL of about 1.325 or 1.326.",
    source="5.4, 8.3",
    rule=f"every mean less {AVERAGE_KL_FLOOR}, the average KL of exact posterior draws, is "
    f"{rules.EQUIVALENT.replace(' (Welch)', '')}",
)
def is_at_floor(evidence: SprinklerEvidence) -> CheckResult:
    excess = {
        cell: rules.less(evidence.sample(cell), AVERAGE_KL_FLOOR)
        for (cell,) in evidence.with_enough(zip(rules.cells("optimal", "prior"), strict=True))
    }
    text = ", ".join(f"{cell.name} {test.mean:+.4f}" for cell, test in excess.items())
    holds = are_within(excess.values(), rules.EQUIVALENCE_MARGIN)
    return holds, f"mean minus {AVERAGE_KL_FLOOR}: {text}{evidence.deviation_note(excess)}"


@claims(
    "C6: The posterior is then optimal.",
    source="5.4, 8.3",
    rule="every mean KL divergence from the posterior, by nearest neighbours, is less than "
    f"{rules.EQUIVALENCE_MARGIN} nats above that of exact posterior draws, {EXACT_KL}, with its "
    f"whole {INTERVAL}; contradicted if it is significantly larger, by Holm's correction",
)
def kl_is_that_of_exact_draws(evidence: SprinklerEvidence) -> CheckResult:
    six = rules.cells("optimal", "prior")
    runs = evidence.available(six)
    found = {
        cell: run.sample("kl") for cell, run in runs.items() if run.sample().size >= MIN_REPETITIONS
    }
    if not found:
        raise evidence.not_enough(zip(six, strict=True), needs_runs=True)
    tests = [rules.less(kl, EXACT_KL) for kl in found.values()]
    holds = are_within(tests, rules.EQUIVALENCE_MARGIN, below=False)
    text = "; ".join(f"{cell.name} {plus_minus(kl.mean, kl.stderr)}" for cell, kl in found.items())
    return holds, f"{text}{evidence.deviation_note(found)}"


@claims(
    "C7: With the prior contrast all six are equally good.",
    source="8.3, Table 8.1",
    rule=rules.NO_DIFFERENCE,
)
def all_six_do_not_differ(evidence: SprinklerEvidence) -> CheckResult:
    return rules.are_equivalent(evidence, [rules.cells("optimal", "prior")])


@claims(
    "C8: With the joint contrast the estimators of one divergence are equally good.",
    source="8.3, Table 8.2",
    rule=rules.NO_DIFFERENCE,
)
def joint_estimators_do_not_differ(evidence: SprinklerEvidence) -> CheckResult:
    if any(map(evidence.shared_run, rules.cells("optimal", "joint"))):
        raise NotTestable(
            "true by the lemma up to rounding: D, r and T are one run with stable numerics"
        )
    return rules.are_equivalent(evidence, rules.groups("optimal", "joint"))


@claims(
    "C9: With the joint contrast, GAN is slower and less consistent than reverse KL.",
    source="8.3, Table 8.2",
    rule=f"{rules.LOWER_MEAN_AND_STD}; with stable numerics one pair stands for D, r and T",
)
def reverse_kl_is_more_consistent(evidence: SprinklerEvidence) -> CheckResult:
    pairs = rules.by_divergence("optimal", "joint")
    min_pairs = 1 if all(map(evidence.shared_run, pairs[0])) else 3
    return rules.is_better(evidence, pairs, spread=True, min_pairs=min_pairs)


@claims(
    "C10: Undertrained, reverse KL is significantly better than GAN (prior).",
    source="9.3, Table 9.1",
    rule=rules.LOWER_MEAN,
    contrast="prior",
)
@claims(
    "C10: Undertrained, reverse KL is significantly better than GAN (joint).",
    source="9.3, Table 9.2",
    rule=rules.LOWER_MEAN,
    contrast="joint",
)
def reverse_kl_is_better(evidence: SprinklerEvidence, contrast: str) -> CheckResult:
    return rules.is_better(evidence, rules.by_divergence("undertrained", contrast), min_pairs=3)


@claims(
    "C11: Undertrained, D has the lowest mean, followed by r and T.",
    source="9.3, Tables 9.1, 9.2",
    rule=f"means increase in the order {', '.join(ESTIMATORS.values())} in every group, "
    f"{rules.WELCH}",
)
@rules.for_every_case()
def means_are_in_order(evidence: SprinklerEvidence) -> Iterator[rules.Case]:
    complete = evidence.with_enough(rules.groups("undertrained"))
    samples = [[evidence.sample(cell) for cell in group] for group in complete]
    steps = [welch(after, before) for own in samples for before, after in pairwise(own)]
    decisions = iter(positive(steps))
    for group, own in zip(complete, samples, strict=True):
        means = zip(group, own, strict=True)
        ends = ", ".join(f"{SYMBOLS[cell.estimator]} {one.mean:.4f}" for cell, one in means)
        name = f"{group[0].contrast}, {DIVERGENCES[group[0].divergence]}"
        yield all_hold([next(decisions) for _ in own[1:]]), f"{name}: {ends}", group


@claims(
    "C11: The estimators differ.",
    source="9.1.3, 9.3",
    rule="p of the t-test, paired for repetitions with the same initial weights and random "
    f"numbers, is below {LEVEL} after Holm's correction for all pairs, in at least half of the "
    "groups; contradicted if in more of them all differences are, with their "
    f"{INTERVAL}s, within {rules.EQUIVALENCE_MARGIN} nats of zero",
)
def estimators_differ(evidence: SprinklerEvidence) -> CheckResult:
    complete = evidence.with_enough(rules.groups("undertrained"))
    by_group = [dict(rules.pairwise_tests(evidence, group)) for group in complete]
    p = {name: test.p for group in by_group for name, test in group.items()}
    decisions = iter(significant(p.values()))
    differ = [any([next(decisions) for _ in group]) for group in by_group]
    differing = sum(differ)
    equal = sum(are_within(group.values(), rules.EQUIVALENCE_MARGIN) is True for group in by_group)
    uncorrected = sum(one < LEVEL for one in p.values())
    name = min(p, key=lambda one: p[one])
    note = evidence.deviation_note(cell for group in complete for cell in group)
    is_open = 2 * max(differing, equal) < len(by_group)
    return rules.half_differ(by_group, differ) if is_open else differing >= equal, (
        f"{differing} of {len(by_group)} groups differ, {equal} are equal; {uncorrected} of "
        f"{len(p)} pairs below {LEVEL} alone, the smallest p {p[name]:.2g} ({name}){note}"
    )


@claims(
    "C12: Means half a standard deviation apart differ significantly.",
    source="9.3",
    rule=f"Welch's p is below {LEVEL} for two samples half of their pooled standard "
    "deviation apart, with the number of repetitions of the runs",
)
def half_deviation_is_significant(evidence: SprinklerEvidence) -> CheckResult:
    complete = evidence.with_enough(rules.groups("undertrained"))
    samples = [[evidence.sample(cell) for cell in group] for group in complete]
    size = max(sample.size for group in samples for sample in group)
    p = welch(Sample(0.5, 1.0, size), Sample(0.0, 1.0, size)).p
    pairs = [pair for group in samples for pair in combinations(group, 2)]
    distant = [(a, b) for a, b in pairs if rules.standardised_difference(a, b) >= 0.5]
    insignificant = sum(welch(a, b).p >= LEVEL for a, b in distant)
    note = evidence.deviation_note(cell for group in complete for cell in group)
    return p < LEVEL, (
        f"with {size} repetitions p is {p:.3f}; of {len(pairs)} pairs of estimators "
        f"{len(distant)} are further apart, {insignificant} of them with p of at least "
        f"{LEVEL}{note}"
    )


@claims(
    "C13: Undertrained, the average KL falls faster at first under GAN.",
    source="9.3, Figs. 9.2, 9.5",
    rule="in every available pair, the average KL, averaged over the evaluations up to iteration "
    f"{rules.EARLY_ITERATIONS} without the first, is lower under GAN, {rules.RANKS}",
)
@rules.for_every_case()
def gan_falls_faster_early(evidence: SprinklerEvidence) -> Iterator[rules.Case]:
    found = []
    for pair, *runs in rules.runs_under_both(evidence):
        curves = [run.curves_of("average_kl") for run in runs]
        gan, kl = (c[(c.index > 0) & (c.index <= rules.EARLY_ITERATIONS)].mean() for c in curves)
        own, other = rules.known(gan.median(), kl.median())
        test = rank_test(kl, gan)
        text = f"{pair[0].contrast}, {pair[0].estimator}: {own:.3f} against {other:.3f}"
        found.append((test, f"{text}, p {test.p:.2g}", pair))
    decisions = positive(test for test, *_ in found)
    for is_lower, (_, text, pair) in zip(decisions, found, strict=True):
        yield is_lower, text, pair


@claims(
    "C13: The loss of reverse KL fluctuates first and steadies after 500 iterations; that of GAN "
    "is steady throughout.",
    source="9.3, Figs. 9.3, 9.6",
    rule="in every available pair, the mean change of the estimator loss between evaluations under "
    f"reverse KL up to iteration {rules.EARLY_ITERATIONS} is at least twice that of later "
    "iterations and twice that under GAN",
)
@rules.for_every_case()
def reverse_kl_loss_settles(evidence: SprinklerEvidence) -> Iterator[rules.Case]:
    for pair, gan, kl in rules.runs_under_both(evidence):
        before, after = rules.loss_changes(kl)
        calm, _ = rules.loss_changes(gan)
        text = (
            f"{pair[0].contrast}, {pair[0].estimator}: {before:.3g}, then {after:.3g}, under GAN "
            f"{calm:.3g}"
        )
        yield before >= 2 * after and before >= 2 * calm, text, pair


@claims(
    "C14: With the joint contrast the NELBO rises while the average KL falls.",
    source="5.3, 9.3",
    rule=f"after the first {rules.BURN_IN:.0%} of the iterations the least-squares slope of the "
    "mean NELBO is positive and that of the mean average KL is negative, in every run with the "
    "joint contrast",
)
def nelbo_rises(evidence: SprinklerEvidence) -> CheckResult:
    joint = (*rules.cells("optimal", "joint"), *rules.cells("undertrained", "joint"))
    available = evidence.available(joint)
    if not available:
        raise evidence.not_enough(zip(joint, strict=True), needs_runs=True)
    slopes = {
        cell: (rules.slope(run, "nelbo"), rules.slope(run, "average_kl"))
        for cell, run in available.items()
    }
    parts = "; ".join(
        f"{cell.setting}, {cell.name}: NELBO {nelbo:+.3g}, average KL {kl:+.3g}"
        for cell, (nelbo, kl) in slopes.items()
    )
    note = evidence.deviation_note(available)
    holds = all(nelbo > 0 > kl for nelbo, kl in slopes.values())
    return holds, f"nats per thousand iterations: {parts}{note}"


@claims(
    "C14, ours: with x drawn from p(x) and stable losses, the NELBO ends near zero.",
    source=OURS,
    rule="with experiment.observations=model the mean NELBO over the last tenth of the iterations "
    "is below 0.5 and less than half of that with the five atoms, in every pair of runs",
)
@rules.for_every_case("no configuration was run with observations=data and observations=model")
def nelbo_falls_with_model_observations(evidence: SprinklerEvidence) -> Iterator[rules.Case]:
    for cell in (*rules.cells("optimal", "joint"), *rules.cells("undertrained", "joint")):
        both = evidence.runs.get(cell), evidence.model_runs.get(cell)
        runs = [run for run in both if run and len(run.finished)]
        if len(runs) == 2:
            curves = [run.mean_curve["nelbo"] for run in runs]
            atoms, model = rules.known(*(c[c.index >= 0.9 * c.index.max()].mean() for c in curves))
            text = (
                f"{cell.setting}, {cell.name}: {model:.3f} instead of {atoms:.3f}, average KL "
                f"{runs[1].sample().with_std}"
            )
            yield model < 0.5 and model < atoms / 2, text, (cell,)


def checked_claims(evidence: SprinklerEvidence) -> list[Claim]:
    """Return every claim with its verdicts on our runs and on the thesis's tables.

    The thesis's claims are judged on runs with its settings, our own on all. There is one
    exception: a run with the settings of a schedule counts for the thesis's situation that the
    schedule stands for, undertrained or trained to the optimum. So `optimal` counts for
    `published`, although its step sizes differ and it takes 2 % of the work. With the prior
    contrast it ends at the same optimum.
    """
    ours = [statement for statement in claims if statement[1] == OURS]
    theirs = [statement for statement in claims if statement[1] != OURS]
    thesis, differ = thesis_evidence(), evidence.changed_settings
    return [
        *check_claims(theirs, evidence.unchanged(), thesis, differ=differ),
        *check_claims(ours, evidence, thesis),
    ]
