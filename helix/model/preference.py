"""What an operator asked for, as a run that may know it gets it (METHOD 80)."""

from __future__ import annotations

from helix.model.verdict import Shape


class Preference(Shape, frozen=True, kw_only=True):
    """One memory entry as data: its name, the digest of its file, what it says.

    It may reach discover, inside a fence of its own, and never a judge or a verifier.
    """

    name: str
    digest: str
    text: str
