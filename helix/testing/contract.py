"""What every suite shares: how a broken contract is told, and what all items must have."""

from __future__ import annotations

import re
from typing import Any

from helix.registry.hookspecs import KINDS
from helix.registry.loading import SINGULAR

_NAME = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")


def require(kept: object, broken: str) -> None:
    """Raise AssertionError with the sentence where the contract is not kept."""
    if not kept:
        raise AssertionError(broken)


def require_item(kind: str, item: Any) -> str:
    """Require what the registry does of an item, and a name that can be typed; return who it is."""
    wanted = KINDS[kind]
    require(
        isinstance(item, wanted),
        f"helix_register_{kind} takes helix.registry.{wanted.__name__} (got {type(item).__name__})",
    )
    who = f"{SINGULAR[kind]} '{item.name}'"
    require(
        isinstance(item.name, str) and _NAME.fullmatch(item.name),
        f"{who}: a name must be lower case letters and digits, with - _ or . between them",
    )
    require(isinstance(item.version, str) and item.version, f"{who} must have a version, as text")
    return who
