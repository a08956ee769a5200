"""The conformance suite of sampling strategies."""

from __future__ import annotations

from collections.abc import Sequence

from helix.errors import HelixError
from helix.model.manifest import ManifestEntry
from helix.model.verdict import Fidelity
from helix.registry import Sampler
from helix.testing.contract import require, require_item

_SIZES = (None, 0, 1, 3, 7, 100)


def sampler_conforms(item: Sampler, entries: Sequence[ManifestEntry] | None = None) -> None:
    """Require that a strategy takes of what it is given, at most `n`, and the same every time.

    `entries` are the manifest it is tried on; without them it is one of 24 synthetic traces. A
    strategy may refuse an `n` that it cannot keep by raising a HelixError.
    """
    who = require_item("samplers", item)
    given = tuple(entries if entries is not None else map(_entry, range(24)))
    for n in _SIZES:
        for seed in (0, 7):
            _keeps_to(who, item, given, n, seed)
    require(_taken(item, (), None, 0) in ([], None), f"{who} must take nothing of no traces")


def _keeps_to(
    who: str, item: Sampler, given: tuple[ManifestEntry, ...], n: int | None, seed: int
) -> None:
    told = f"{who} with n={n} and seed={seed}"
    taken = _taken(item, given, n, seed)
    if taken is None:
        return
    strange = sorted(set(taken) - {entry.ordinal for entry in given})
    require(not strange, f"{told} takes ordinals that it was not given ({strange})")
    require(len(set(taken)) == len(taken), f"{told} takes a trace twice ({taken})")
    require(n is None or len(taken) <= n, f"{told} takes {len(taken)} traces")
    require(
        _taken(item, given, n, seed) == taken, f"{told} takes other traces when it is asked again"
    )
    turned = _taken(item, given[::-1], n, seed) or []
    require(set(turned) == set(taken), f"{told} takes other traces when they come in another order")


def _taken(
    item: Sampler, given: Sequence[ManifestEntry], n: int | None, seed: int
) -> list[int] | None:
    try:
        return list(item.choose(given, n, seed))
    except HelixError:
        return None


def _entry(at: int) -> ManifestEntry:
    # Every second ordinal is missing, so that a place in the list is not taken for one.
    return ManifestEntry(
        ordinal=2 * at,
        id=f"t{at:02}",
        digest=f"{at:064x}",
        file="traces.jsonl",
        line=at + 1,
        format="helix",
        route=("buy", "ask", None)[at % 3],
        task=f"k{at % 4}",
        flags=("truncated",) if at % 5 == 0 else (),
        fidelity=Fidelity(complete=True),
        observations=at * at % 17,
        selected=False,
        failures=int(at % 4 == 0),
    )
