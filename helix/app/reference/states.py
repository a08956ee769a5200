"""The states of a cell, and the typed causes of what is not decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from helix.app.reference.markdown import code, table
from helix.model.verdict import MachineryCause, WorldCause
from helix.reports.words import ACTIONS, MATCHES, MEANINGS, UNBLOCK, VERIFIED


def body() -> str:
    """Return states, causes with what to do, blocks, and what becomes of evidence."""
    parts: list[tuple[str, list[str], Mapping[Any, str]]] = [
        ("States of a cell", ["state", "means"], MEANINGS),
        ("Why the trace does not decide it", ["cause", "what to do"], _of(get_args(WorldCause))),
        ("Why nobody could look", ["cause", "what to do"], _of(get_args(MachineryCause))),
        ("Who can unblock it", ["blockedBy.kind", "what is needed"], UNBLOCK),
        ("What became of a reference", ["match", "the text it cites is"], MATCHES),
        ("What the verifier said", ["verification.status", "means"], VERIFIED),
    ]
    return "\n\n".join(
        f"## {title}\n\n" + table(heads, [[code(name), text] for name, text in told.items()])
        for title, heads, told in parts
    )


def _of(causes: tuple[str, ...]) -> dict[str, str]:
    return {cause: text for cause, text in ACTIONS.items() if cause in causes}
