"""Train, dev and test: by trace, seeded, and the same for a trace whatever stands beside it.

METHOD 62: train 10–20 %, dev 40–45 %, test 40–45 %, disjoint. Labels, datasets and few-shot
examples are split by this one function.
"""

from __future__ import annotations

from typing import Literal

from helix.model.canonical import digest_bytes

Part = Literal["train", "dev", "test"]

PARTS: tuple[Part, ...] = ("train", "dev", "test")
USUAL: dict[Part, tuple[int, int]] = {"train": (10, 20), "dev": (40, 45), "test": (40, 45)}
"""The share of each part in per cent; few traces may lie outside by chance."""
_TRAIN, _DEV, _OF = 150, 575, 1000


def split_of(trace: str, seed: int) -> Part:
    """Return the part that a trace belongs to: a hash of seed and id, and nothing else, decides.

    15 % train, 42.5 % dev, 42.5 % test in expectation.
    """
    drawn = digest_bytes(str(seed).encode(), trace.encode("utf-8", "backslashreplace"))
    place = int(drawn[:16], 16) % _OF
    return "train" if place < _TRAIN else "dev" if place < _DEV else "test"
