"""How many labels, items or repeats an answer needs."""

from __future__ import annotations

import math
from typing import Literal

from helix.stats.intervals import wilson, z_of


def needed_for_width(
    rate: float,
    half_width: float,
    confidence: float = 0.95,
    method: Literal["wilson", "exact"] = "wilson",
) -> int:
    """Return the fewest trials whose interval at this rate is no wider than ± half_width.

    Wilson's interval is taken at rate·m, the exact one at the whole number next to it. Trials are
    labels of one class, traces, or repeats of one item.
    """
    if not (0 <= rate <= 1 and 0 < half_width < 1):
        raise ValueError(f"rate and half_width must lie within 0..1 (got {rate}, {half_width})")
    trials = 1
    while _half(wilson(rate * trials, trials, confidence)) > half_width:
        trials += 1
    return trials if method == "wilson" else _exact(rate, half_width, confidence, 4 * trials + 100)


def needed_for_flips(rate: float, half_width: float, confidence: float = 0.95) -> int:
    """Return the fewest repeats of one trace whose flip rate is known to ± half_width.

    At this flip rate, 0 to ½: it is 2q(1 − q) of the rarer answer's share q, and its interval is
    the image of Wilson's of q.
    """
    if not (0 <= rate <= 0.5 and 0 < half_width < 1):
        raise ValueError(
            f"rate must lie within 0..0.5 and half_width within 0..1 (got {rate}, {half_width})"
        )
    share = (1 - math.sqrt(1 - 2 * rate)) / 2
    trials = 2
    while _half(_flips(wilson(share * trials, trials, confidence))) > half_width:
        trials += 1
    return trials


def needed_to_show(lower: float, confidence: float = 0.95) -> int:
    """Return how many trials without an error put the exact interval above `lower`.

    Clopper–Pearson at m of m is (α/2)^(1/m), two-sided.
    """
    if not 0 < lower < 1:
        raise ValueError(f"lower must lie between 0 and 1 (got {lower})")
    return math.ceil(math.log((1 - confidence) / 2) / math.log(lower))


def needed_to_tell(discordant: float, difference: float, power: float = 0.8) -> int:
    """Return how many pairs show a difference of two paired rates, at 5 % two-sided.

    `discordant` is the share of items that just one of the two gets right, at least the
    difference. Source: Connor 1987, (z₁√d + z₂√(d − δ²))²/δ².
    """
    if not 0 < difference <= discordant <= 1:
        raise ValueError(
            f"difference must lie within 0..discordant (got {difference} of {discordant})"
        )
    spread = math.sqrt(discordant - difference**2)
    reach = z_of(0.95) * math.sqrt(discordant) + z_of(2 * power - 1) * spread
    return math.ceil((reach / difference) ** 2)


def _half(interval: tuple[float, float] | None) -> float:
    return math.inf if interval is None else (interval[1] - interval[0]) / 2


def _flips(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    if interval is None:
        return None
    ends = [2 * q * (1 - q) for q in interval]
    return min(ends), 0.5 if interval[0] <= 0.5 <= interval[1] else max(ends)


def _exact(rate: float, half_width: float, confidence: float, most: int) -> int:
    """Return the fewest trials for Clopper–Pearson, all of them tried at once."""
    import numpy as np
    from scipy.stats import beta

    trials = np.arange(1, most + 1)
    good, tail = np.rint(rate * trials), (1 - confidence) / 2
    bad = trials - good
    low = np.where(good > 0, beta.ppf(tail, np.maximum(good, 1), bad + 1), 0.0)
    high = np.where(bad > 0, beta.ppf(1 - tail, good + 1, np.maximum(bad, 1)), 1.0)
    return int(trials[np.argmax((high - low) / 2 <= half_width)])
