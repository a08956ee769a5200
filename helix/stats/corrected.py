"""The rate that a judge saw, corrected by what labels say of the judge (METHOD 61).

A correction is undefined (None) where the judge tells nothing apart: TPR + TNR − 1 ≤ 0. Raw values
and intervals may leave 0..1, which is itself a warning; they are clipped beside it, never silently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from helix.stats.intervals import Interval, Method, Share, z_of

Number = float | Fraction


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected rate: as the formula gives it, and clipped to 0..1, with a flag."""

    raw: Number

    @property
    def value(self) -> Number:
        """The rate within 0..1."""
        return min(max(self.raw, Fraction(0)), Fraction(1))

    @property
    def clipped(self) -> bool:
        """Whether the formula left 0..1: the labels and the run do not fit each other."""
        return self.value != self.raw


def rogan_gladen(passed: Number, tpr: Number, tnr: Number) -> Corrected | None:
    """Return θ = (p + TNR − 1)/(TPR + TNR − 1); None when the denominator is not above 0.

    Exact for Fractions. Source: Rogan & Gladen 1978.
    """
    told = tpr + tnr - 1
    return Corrected((passed + tnr - 1) / told) if told > 0 else None


def clip(interval: Interval) -> Interval:
    """Return an interval of a rate within 0..1."""
    low, high = interval
    return min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)


def known_interval(
    passed: Share, tpr: Number, tnr: Number, confidence: float = 0.95, method: Method = "wilson"
) -> Interval | None:
    """Return the interval of the corrected rate where TPR and TNR are known, unclipped.

    An interval of the observed rate, transformed. Source: Reiczigel 2010; epiR `epi.prev`.
    """
    ends = passed.interval(confidence, method)
    found = [rogan_gladen(end, tpr, tnr) for end in ends or ()]
    if len(found) != 2 or found[0] is None or found[1] is None:
        return None
    return float(found[0].raw), float(found[1].raw)


def delta_interval(
    passed: Share, tpr: Share, tnr: Share, confidence: float = 0.95
) -> Interval | None:
    """Return θ ± z·SE by the delta method, unclipped; too narrow where labels are few.

    SE = √[p(1−p)/n + (1−θ)² TNR(1−TNR)/m0 + θ² TPR(1−TPR)/m1] / (TPR + TNR − 1).
    """
    rates = passed.rate, tpr.rate, tnr.rate
    if rates[0] is None or rates[1] is None or rates[2] is None:
        return None
    found = rogan_gladen(rates[0], rates[1], rates[2])
    if found is None:
        return None
    theta, half = float(found.raw), z_of(confidence) * _error(found.raw, passed, tpr, tnr)
    return theta - half, theta + half


def lang_reiczigel(
    passed: Share, tpr: Share, tnr: Share, confidence: float = 0.95
) -> Interval | None:
    """Return the default interval of the corrected rate, unclipped; None where it is undefined.

    n' = n + z², p' = (np + z²/2)/n', q' = (mq + 1)/(m + 2), m' = m + 2; θ' and SE' from these,
    dθ = 2z²[θ' q1'(1−q1')/m1' − (1−θ') q0'(1−q0')/m0'], θ' + dθ ± z·SE'. Source: Lang & Reiczigel
    2014, as R `asht::prevSeSp`; Lee et al., arXiv 2511.21140, is the same interval.
    """
    if not (passed.n and tpr.n and tnr.n):
        return None
    z = z_of(confidence)
    passed = Share(float(passed.k) + z * z / 2, float(passed.n) + z * z)
    tpr, tnr = _shrunk(tpr), _shrunk(tnr)
    found = rogan_gladen(_rate(passed), _rate(tpr), _rate(tnr))
    if found is None:
        return None
    theta = float(found.raw)
    moved = 2 * z * z * (theta * _variance(tpr) - (1 - theta) * _variance(tnr))
    half = z * _error(theta, passed, tpr, tnr)
    return theta + moved - half, theta + moved + half


def jeffreys_interval(
    passed: Share,
    tpr: Share,
    tnr: Share,
    confidence: float = 0.95,
    *,
    seed: int = 0,
    draws: int = 100_000,
) -> Interval | None:
    """Return quantiles of the corrected rate over draws from three Jeffreys posteriors, unclipped.

    A draw whose judge tells nothing apart could be anything: it counts as −∞ for the lower end and
    as +∞ for the upper, so that it widens the interval and is never dropped. None where an end is
    infinite. The same seed gives the same interval.
    """
    if not (passed.n and tpr.n and tnr.n):
        return None
    import numpy as np

    random = np.random.default_rng(seed)
    p, q1, q0 = (
        random.beta(float(share.k) + 0.5, float(share.n - share.k) + 0.5, draws)
        for share in (passed, tpr, tnr)
    )
    told = q1 + q0 - 1
    theta = (p + q0 - 1) / np.where(told > 0, told, 1.0)
    tail = (1 - confidence) / 2
    low = float(np.quantile(np.where(told > 0, theta, -np.inf), tail, method="lower"))
    high = float(np.quantile(np.where(told > 0, theta, np.inf), 1 - tail, method="higher"))
    return (low, high) if math.isfinite(low) and math.isfinite(high) else None


def best_split(theta: Number, tpr: Number, tnr: Number) -> float | None:
    """Return which part of the next labels should be human fails; None where it does not matter.

    m0 : m1 = (1−θ)√(TNR(1−TNR)) : θ√(TPR(1−TPR)), which makes the delta error smallest.
    """
    fails = float(1 - theta) * math.sqrt(tnr * (1 - tnr))
    passes = float(theta) * math.sqrt(tpr * (1 - tpr))
    return fails / (fails + passes) if fails + passes > 0 else None


@dataclass(frozen=True, slots=True)
class Predicted:
    """A mean by prediction-powered inference, with its standard error and normal interval."""

    value: float
    error: float
    interval: Interval


def ppi_mean(
    labels: Sequence[float],
    judged: Sequence[float],
    unlabelled: Sequence[float],
    confidence: float = 0.95,
) -> Predicted | None:
    """Return mean(unlabelled) + mean(labels − judged); None without labels or without a run.

    `judged[i]` is what the judge said of the item with `labels[i]`; SE² = var(unlabelled)/N +
    var(labels − judged)/n. Source: Angelopoulos et al. 2023.
    """
    if not labels or not unlabelled:
        return None
    rest = [label - said for label, said in zip(labels, judged, strict=True)]
    (seen, seen_var), (off, off_var) = _moments(unlabelled), _moments(rest)
    error = math.sqrt(seen_var / len(unlabelled) + off_var / len(rest))
    value, half = seen + off, z_of(confidence) * error
    return Predicted(value, error, (value - half, value + half))


def shifted(
    corrected: Corrected | None, interval: Interval | None, predicted: Predicted | None
) -> bool | None:
    """Return whether Rogan–Gladen and PPI disagree: one lies outside the other's interval.

    Then the labelled sample differs from the run, and neither correction can be relied on. None
    where one of them is undefined.
    """
    if corrected is None or interval is None or predicted is None:
        return None
    inside = interval[0] <= predicted.value <= interval[1]
    return not (inside and predicted.interval[0] <= corrected.raw <= predicted.interval[1])


def _moments(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / len(values)


def _shrunk(share: Share) -> Share:
    return Share(float(share.k) + 1, float(share.n) + 2)


def _rate(share: Share) -> float:
    return float(share.k) / float(share.n)


def _variance(share: Share) -> float:
    """Return q(1−q)/m of a share."""
    return _rate(share) * (1 - _rate(share)) / float(share.n)


def _error(theta: Number, passed: Share, tpr: Share, tnr: Share) -> float:
    theta = float(theta)
    spread = _variance(passed) + (1 - theta) ** 2 * _variance(tnr) + theta**2 * _variance(tpr)
    return math.sqrt(spread) / (_rate(tpr) + _rate(tnr) - 1)
