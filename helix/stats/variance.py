"""Where disagreement comes from: the agent, the judge, the verifier (METHOD 73).

An answer is a pair: what the judge itself said, and what was left of it. `Answers` counts those of
one trace. Two answers drawn at random disagree with a probability that splits without a rest:

    verifier   one trace, the judge says the same twice and what is left differs
    judge      one trace, the judge does not say the same and what is left differs
    agent      what two traces of one task disagree more than two answers on one trace do

Half of a probability of disagreement is the variance of the answer, whatever the number of
categories; of two categories it is p(1 − p). Source: Light & Margolin 1971 (CATANOVA); the parts
are U-statistics (Hoeffding 1948), each unbiased at any number of repeats from two on.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from helix.stats.intervals import Interval, wilson, z_of

Answer = tuple[str, str]
Answers = tuple[tuple[Answer, int], ...]


class Estimate(NamedTuple):
    """A mean over `items`, exact, with its interval; `effective` is the size that is left of them.

    `rate` may be below 0 where it is a difference; the interval is within 0 to 1.
    """

    rate: Fraction
    interval: Interval
    items: int
    effective: float


def answers_of(given: Iterable[Answer]) -> Answers:
    """Return the answers on one trace, counted."""
    return tuple(sorted(Counter(given).items()))


def counted(answers: Answers) -> int:
    """Return how many answers there are."""
    return sum(n for _, n in answers)


@lru_cache(maxsize=4096)
def flipped(answers: Answers) -> Fraction:
    """Return the chance that two answers on one trace end differently; of pass and fail it is
    2k(R−k)/(R(R−1))."""
    return 1 - _same(_ends(answers).values())


@lru_cache(maxsize=4096)
def refuted(answers: Answers) -> Fraction:
    """Return the part of `flipped` in which the judge said the same twice: the verifier's."""
    own: Counter[str] = Counter()
    for (said, _), n in answers:
        own[said] += n
    return _same(own.values()) - _same(n for _, n in answers)


@lru_cache(maxsize=4096)
def varied(traces: tuple[Answers, ...]) -> Fraction:
    """Return how much more two traces of one task disagree than two answers on one trace do.

    Below 0 is no more than noise: the traces differ less than repeats of one of them.
    """
    # Traces that say the same are counted: there may be many of one task.
    kinds = [(answers, _ends(answers), n) for answers, n in Counter(traces).items()]
    differ = Fraction(0)
    for at, (_, one, n) in enumerate(kinds):
        differ += (1 - _meet(one, one)) * (n * (n - 1) // 2)
        differ += sum(((1 - _meet(one, two)) * (n * m) for _, two, m in kinds[:at]), Fraction(0))
    apart = differ / (len(traces) * (len(traces) - 1) // 2)
    alone = sum((flipped(a) * n for a, _, n in kinds if counted(a) > 1), Fraction(0)) / len(traces)
    return apart - alone


def flip_spread(answers: Answers, confidence: float = 0.95) -> Interval | None:
    """Return the interval of the flip rate of one trace; None below two answers.

    It is the image of Wilson's interval of the commonest answer's share q: between 2q(1 − q),
    where all others are of one kind, and what is left where they are evenly of all kinds seen. It
    holds the estimate too, which of few answers can lie beyond what any share makes.
    """
    ends = _ends(answers)
    total = sum(ends.values())
    if total < 2:
        return None
    low, high = wilson(max(ends.values()), total, confidence) or (0.0, 1.0)
    kinds = max(len(ends), 2)
    peak = min(max(1 / kinds, low), high)
    most = 1 - peak**2 - (1 - peak) ** 2 / (kinds - 1)
    found, least = float(flipped(answers)), min(2 * low * (1 - low), 2 * high * (1 - high))
    return max(0.0, min(found, least)), max(found, most)


def disorder(answers: Answers) -> float:
    """Return the entropy of the answers on one trace in bits: 0 always the same."""
    ends = _ends(answers)
    total = sum(ends.values())
    return abs(math.fsum(n / total * math.log2(n / total) for n in ends.values()))


def kappa(traces: Sequence[Answers]) -> float | None:
    """Return Fleiss' κ over repeats; None without two answers, or where all are of one kind.

    Traces may have different numbers of answers. Source: Fleiss 1971; where the numbers are equal
    it is `fleiss_kappa`.
    """
    traces = [answers for answers in traces if counted(answers) > 1]
    ends: Counter[str] = Counter()
    for answers in traces:
        ends.update(_ends(answers))
    if len(ends) < 2:
        return None
    total = sum(ends.values())
    chance = sum((Fraction(n, total) ** 2 for n in ends.values()), Fraction(0))
    agreed = 1 - sum(map(flipped, traces), Fraction(0)) / len(traces)
    return float((agreed - chance) / (1 - chance))


def mean_share(
    clusters: Mapping[str, Sequence[Fraction]], confidence: float = 0.95
) -> Estimate | None:
    """Return the mean of values in 0 to 1 that go together by cluster; None of nothing.

    Wilson's interval on the effective size m(1 − m)/SE², SE clustered, cut down by (z/t)² for the
    few clusters that it was estimated from. Where no value differs it is the number of clusters,
    so that no flip among few traces leaves much open. Source: Korn & Graubard 1998; Franco,
    Little, Louis & Slud 2019 find that it covers for small rates, where symmetric ones do not.
    """
    known = _known(clusters)
    if known is None:
        return None
    mean, error, items, groups = known
    at = min(max(float(mean), 0.0), 1.0)
    if groups < 2 or error == 0 or not 0 < at < 1:
        size = float(groups)
    else:
        size = at * (1 - at) / error**2 * (z_of(confidence) / _t_of(confidence, groups - 1)) ** 2
    return Estimate(mean, wilson(at * size, size, confidence) or (0.0, 1.0), items, size)


def mean_excess(
    clusters: Mapping[str, Sequence[Fraction]], confidence: float = 0.95
) -> Estimate | None:
    """Return the mean of differences of shares that go together by cluster; None of nothing.

    Student's interval on the clusters, within 0 to 1 and around no less than 0. Where no value
    differs it is Wilson's, as in `mean_share`.
    """
    known = _known(clusters)
    if known is None:
        return None
    mean, error, items, groups = known
    at = min(max(float(mean), 0.0), 1.0)
    if groups < 2 or error == 0:
        return Estimate(mean, wilson(at * groups, groups, confidence) or (0.0, 1.0), items, groups)
    half = _t_of(confidence, groups - 1) * error
    return Estimate(mean, (max(0.0, at - half), min(1.0, at + half)), items, groups)


def _known(
    clusters: Mapping[str, Sequence[Fraction]],
) -> tuple[Fraction, float, int, int] | None:
    """Return mean, clustered standard error, number of values, number of clusters."""
    totals: Counter[int] = Counter()
    kept = []
    for values in filter(None, clusters.values()):
        for value in values:
            totals[value.denominator] += value.numerator
        kept.append((math.fsum(v.numerator / v.denominator for v in values), len(values)))
    items, groups = sum(n for _, n in kept), len(kept)
    if not items:
        return None
    # One fraction for each denominator: adding every value by itself takes far longer.
    mean = sum((Fraction(top, bottom) for bottom, top in totals.items()), Fraction(0)) / items
    at = float(mean)
    square = math.fsum((total - at * n) ** 2 for total, n in kept)
    # Equal values leave a rest of rounding, which is no spread.
    square = square if square > 1e-18 * items else 0.0
    error = math.sqrt(square * groups / max(groups - 1, 1)) / items
    return mean, error, items, groups


def _ends(answers: Answers) -> Counter[str]:
    ends: Counter[str] = Counter()
    for (_, left), n in answers:
        ends[left] += n
    return ends


def _same(counts: Iterable[int]) -> Fraction:
    """Return the chance that two of the counted are of one kind."""
    counts = list(counts)
    total = sum(counts)
    return Fraction(sum(n * (n - 1) for n in counts), total * (total - 1))


def _meet(one: Counter[str], two: Counter[str]) -> Fraction:
    """Return the chance that an answer on one trace ends as one on another does."""
    shared = sum(n * two[kind] for kind, n in one.items())
    return Fraction(shared, sum(one.values()) * sum(two.values()))


@lru_cache(maxsize=64)
def _t_of(confidence: float, freedom: int) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 0.5 + confidence / 2))
