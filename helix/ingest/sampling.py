"""Which traces are taken: seeded, and by id, so that neither order nor size of the batch matters.

A trace's turn is the digest of seed and id. So a larger `n` keeps what a smaller one took.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import median

from helix.errors import ConfigError
from helix.model.canonical import digest_bytes
from helix.model.manifest import ManifestEntry
from helix.registry import Sampler


def take_all(entries: Sequence[ManifestEntry], n: int | None, seed: int) -> list[int]:
    """Take every trace; `n` is refused, for it would be ignored."""
    if n is not None:
        raise ConfigError(f"sampling.n={n} needs sampling.strategy=random or stratified (got all)")
    return [entry.ordinal for entry in entries]


def take_random(entries: Sequence[ManifestEntry], n: int | None, seed: int) -> list[int]:
    """Take `n` traces, each set of that size as likely as any other over the seeds."""
    return sorted(entry.ordinal for entry in _shuffled(entries, seed)[:n])


def take_stratified(entries: Sequence[ManifestEntry], n: int | None, seed: int) -> list[int]:
    """Take `n` traces, of each route its share; what rounding leaves goes to the largest rests."""
    strata: dict[str, list[ManifestEntry]] = {}
    for entry in entries:
        strata.setdefault(entry.route or "", []).append(entry)
    total = len(entries)
    wanted = total if n is None else min(n, total)
    shares = {route: divmod(wanted * len(group), total) for route, group in strata.items()}
    by_rest = sorted(shares, key=lambda route: (-shares[route][1], -len(strata[route]), route))
    left = wanted - sum(share for share, _ in shares.values())
    raised = set(by_rest[:left])
    return sorted(
        entry.ordinal
        for route, group in strata.items()
        for entry in _shuffled(group, seed)[: shares[route][0] + (route in raised)]
    )


def take_failing(entries: Sequence[ManifestEntry], n: int | None, seed: int) -> list[int]:
    """Take `n` traces, those first in which something declares that it failed."""
    return _first(entries, n, seed, lambda entry: -min(entry.failures, 1))


def take_outliers(entries: Sequence[ManifestEntry], n: int | None, seed: int) -> list[int]:
    """Take the `n` traces whose number of steps is farthest from the median, counted in ratios."""
    if not entries:
        return []
    middle = math.log1p(median(entry.observations for entry in entries))
    return _first(entries, n, seed, lambda e: -round(abs(math.log1p(e.observations) - middle), 9))


def take_uncertain(entries: Sequence[ManifestEntry], n: int | None, seed: int) -> list[int]:
    """Take `n` traces, those first that are hardest to decide: most flags of their recording."""
    return _first(entries, n, seed, lambda entry: -len(entry.flags))


def take_balanced(entries: Sequence[ManifestEntry], n: int | None, seed: int) -> list[int]:
    """Take `n` traces, half of which declare a failure, as far as there are so many of a kind.

    Without `n`: all of the smaller half, and as many of the other.
    """
    failing = [entry for entry in _shuffled(entries, seed) if entry.failures]
    sound = [entry for entry in _shuffled(entries, seed) if not entry.failures]
    fewer = min(len(failing), len(sound))
    wanted = min(
        2 * fewer if fewer and n is None else len(entries) if n is None else n, len(entries)
    )
    take = max(wanted - len(sound), min(wanted // 2, len(failing)))
    return sorted(entry.ordinal for entry in [*failing[:take], *sound[: wanted - take]])


def _first(
    entries: Sequence[ManifestEntry],
    n: int | None,
    seed: int,
    rank: Callable[[ManifestEntry], float],
) -> list[int]:
    """Return the first `n` by rank; those of one rank are drawn."""
    ranked = sorted(_shuffled(entries, seed), key=rank)
    return sorted(entry.ordinal for entry in ranked[:n])


def _shuffled(entries: Sequence[ManifestEntry], seed: int) -> list[ManifestEntry]:
    return sorted(entries, key=lambda entry: turn(entry.id, seed))


def turn(trace_id: str, seed: int) -> str:
    """Return when a trace has its turn among others: by seed and id, whatever the batch."""
    return digest_bytes(str(seed).encode("ascii"), trace_id.encode("utf-8", "backslashreplace"))


SAMPLERS = (
    Sampler("all", "1", take_all),
    Sampler("random", "1", take_random),
    Sampler("stratified", "1", take_stratified),
    Sampler("failure-driven", "1", take_failing),
    Sampler("outlier", "1", take_outliers),
    Sampler("uncertainty", "1", take_uncertain),
    Sampler("balanced", "1", take_balanced),
)
