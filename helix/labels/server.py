"""The page that a rater labels on, served to this machine alone (`helix.labels.loopback`).

No file is ever looked up by a name from outside: there are a few assets, given by the caller.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from pydantic import Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from helix.errors import LabelError
from helix.labels.desk import LONGEST_NOTE, Desk, Task
from helix.labels.files import wrong
from helix.labels.loopback import Guard
from helix.labels.record import Word
from helix.model.criterion import Record, RefSpec

LARGEST_BODY: Final = 256 * 1024
Page = Callable[[Desk, Task], str]
Assets = Mapping[str, tuple[str, bytes]]


class Given(Record):
    """What the page sends for a cell, which it names: a page may be older than the server."""

    trace: str
    criterion: str
    label: Word
    refs: tuple[RefSpec, ...] = ()
    note: str | None = Field(default=None, max_length=LONGEST_NOTE)


def build(desk: Desk, page: Page, assets: Assets, token: str, port: int) -> ASGIApp:
    """Return the application: pages, their assets, and the two things that a rater can do."""

    async def first(request: Request) -> Response:
        task = desk.tasks[0]
        at = task.at if desk.label_of(task) is None else desk.next_open(0)
        return RedirectResponse(f"/cell/{at}", status_code=303)

    async def shown(request: Request) -> Response:
        at = request.path_params["at"]
        if at >= len(desk.tasks):
            return PlainTextResponse("There is no such cell.", 404)
        text = page(desk, desk.tasks[at])
        return Response(text.encode("utf-8", "replace"), media_type="text/html; charset=utf-8")

    async def given(request: Request) -> Response:
        sent = Given.model_validate(await _json(request))
        task = _task(desk, request)
        if task.cell != (sent.trace, sent.criterion):
            raise LabelError("this page is of another session: load it again")
        after = desk.give(task.at, sent.label, sent.refs, sent.note)
        return _answer({"next": f"/cell/{after}", "labelled": desk.labelled})

    async def cited(request: Request) -> Response:
        ref = RefSpec.model_validate(await _json(request))
        found = desk.resolved(_task(desk, request).at, ref)
        return _answer({"match": found.match})

    async def taken_back(request: Request) -> Response:
        undone = desk.undo()
        if undone is None:
            return _answer({"next": None})
        at, taken = undone
        told: dict[str, Any] = {"next": f"/cell/{at}", "trace": taken.trace}
        if desk.label_of(desk.tasks[at]) is None:
            refs = [{"obs": ref.obs, "path": ref.path, "value": ref.value} for ref in taken.refs]
            told["draft"] = {"refs": refs, "note": taken.note or ""}
        return _answer(told)

    routes = [
        Route("/", first),
        Route("/cell/{at:int}", shown),
        Route("/cell/{at:int}", _told(given), methods=["POST"]),
        Route("/cell/{at:int}/evidence", _told(cited), methods=["POST"]),
        Route("/undo", _told(taken_back), methods=["POST"]),
        *(Route(f"/{name}", _asset(*assets[name])) for name in assets),
    ]
    return Guard(Starlette(routes=routes), token, port, "helix labels serve")


def _task(desk: Desk, request: Request) -> Task:
    at: int = request.path_params["at"]
    if at >= len(desk.tasks):
        raise LabelError("there is no such cell")
    return desk.tasks[at]


def _asset(kind: str, data: bytes) -> Callable[[Request], Awaitable[Response]]:
    async def sent(request: Request) -> Response:
        return Response(data, media_type=kind)

    return sent


def _told(
    handler: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a handler whose errors are told as JSON, so that the page can show them."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except ValidationError as error:
            return _answer({"error": "; ".join(wrong(error))}, 422)
        except LabelError as error:
            return _answer({"error": str(error)}, 422)

    return answered


def _answer(value: Any, status: int = 200) -> Response:
    """Return JSON in plain characters: what a trace holds may be no Unicode text."""
    return Response(json.dumps(value), status, media_type="application/json")


async def _json(request: Request) -> Any:
    if request.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise LabelError("what is sent must be JSON")
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > LARGEST_BODY:
            raise LabelError(f"what is sent must have at most {LARGEST_BODY:,} bytes")
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise LabelError("what is sent must be JSON") from None
