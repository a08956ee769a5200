"""Every primitive, as `helix plugins NAME` prints it, and the parts of their parameters."""

from __future__ import annotations

import helix.registry
from helix.app.item_page import check_section, parts, window_section
from helix.app.reference.markdown import code
from helix.registry import Check


def body() -> str:
    """Return a list of all, a section for each, and one for what their parameters are made of."""
    checks = built_in()
    listed = "\n".join(f"- [{one.name}](#{one.name}): {_first(one)}" for one in checks)
    sections = "\n\n".join(check_section(one).rstrip() for one in checks)
    made_of = "\n".join([*parts(checks), window_section()])
    return (
        f"{code('helix plugins NAME')} prints one of these sections, and those of installed "
        "plugins. [Checks](../checks.md) explains paths, patterns and what all share.\n\n"
        f"{listed}\n\n{sections}\n\n## Parts of parameters\n\n{made_of}"
    )


def built_in() -> list[Check]:
    """Return the checks that Helix brings, by name."""
    registry = helix.registry.load(entry_points=())
    return [entry.item for entry in registry.items("checks").values()]


def _first(check: Check) -> str:
    text = (check.decide.__doc__ or "").partition("\n\n")[0]
    first = " ".join(text.split())
    return f"{first[:1].lower()}{first[1:]}"
