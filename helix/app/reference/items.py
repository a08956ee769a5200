"""What Helix itself registers with each hook, with the first paragraph of its manual.

Checks and trace formats have pages of their own.
"""

from __future__ import annotations

import helix.registry
from helix.app.item_page import summary
from helix.app.reference.markdown import code, table
from helix.registry.hookspecs import KINDS

_ELSEWHERE = ("checks", "formats")


def body() -> str:
    """Return one table for each kind of item; plugins that happen to be installed are left out."""
    registry = helix.registry.load(entry_points=())
    return "\n\n".join(
        f"## {kind.capitalize()}\n\n"
        + table(
            ["name", "is"],
            [[code(name), summary(entry)] for name, entry in registry.items(kind).items()],
        )
        for kind in KINDS
        if kind not in _ELSEWHERE
    )
