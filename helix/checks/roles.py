"""Who may speak: the usual roles, and how a name in a suite is compared with one in a trace.

Traces of several agents name their speakers instead, so that any name may be right. One that is
nearly a usual role is refused when the suite loads; another is looked for in the traces.
"""

from __future__ import annotations

import difflib
from typing import Annotated

from pydantic import AfterValidator, Field

ROLES = ("user", "assistant", "system", "developer", "tool")
_NEAR = 0.8


def same_role(left: str, right: str) -> bool:
    """Whether two names mean one role: case does not matter."""
    return left.casefold() == right.casefold()


def _not_misspelt(name: str) -> str:
    folded = name.casefold()
    if any(role in folded for role in ROLES):
        return name
    near = difflib.get_close_matches(folded, ROLES, n=1, cutoff=_NEAR)
    if near:
        raise ValueError(
            f"must be a role: {', '.join(ROLES)}, * or a speaker's name (got '{name}'); "
            f"did you mean '{near[0]}'?"
        )
    return name


Role = Annotated[str, Field(min_length=1), AfterValidator(_not_misspelt)]
