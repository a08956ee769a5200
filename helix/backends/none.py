"""No judge: what code cannot decide stays unadjudicated."""

from __future__ import annotations

from helix.model.request import Reply, Request, Unavailable
from helix.registry import JudgeSettings


class NoJudge:
    """The backend that answers nothing; it is not asked, since `asks` is False."""

    async def __aenter__(self) -> NoJudge:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def ask(self, request: Request) -> Reply:
        """Raise Unavailable."""
        raise Unavailable(f"no {request.unit.role} is configured; set {request.unit.role}=replay")


def open_none(settings: JudgeSettings) -> NoJudge:
    """Open the judge that is none."""
    return NoJudge()
