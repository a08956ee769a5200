"""Rows of one route: what is said of a trace that took another (METHOD 13)."""

from __future__ import annotations

from collections.abc import Sequence

from helix.model.criterion import Criterion
from helix.model.trace import Trace
from helix.registry import Decision


def off_route(criterion: Criterion, trace: Trace, routes: Sequence[str]) -> Decision | None:
    """Return why a row of one route says nothing of this trace; None where it applies.

    A route that the subject does not declare is unresolved: it shows nothing (METHOD 13).
    """
    if criterion.route is None or criterion.route == trace.route:
        return None
    if trace.route is None or (routes and trace.route not in routes):
        has = "none" if trace.route is None else f"'{trace.route}', which is not declared"
        text = f"the row is for the route '{criterion.route}', and the trace has {has}"
        return Decision("uncertain", text, cause="unresolved-route")
    return Decision("na", f"the row is for the route '{criterion.route}', not '{trace.route}'")
