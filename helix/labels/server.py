"""The page that a rater labels on, served to this machine alone (DESIGN “Safety”).

Whoever asks must know the token, which the address that is printed holds once and a cookie after
that; the Host must be loopback and the Origin, where a browser sends one, the page's own. No file
is ever looked up by a name from outside: there are a few assets, given by the caller.
"""

from __future__ import annotations

import json
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs

import uvicorn
from pydantic import Field, ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from helix.errors import LabelError
from helix.labels.desk import LONGEST_NOTE, Desk, Task
from helix.labels.files import wrong
from helix.labels.record import Word
from helix.model.criterion import Record, RefSpec

HOST: Final = "127.0.0.1"
HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
TOKEN_HEADER: Final = "x-helix-token"
LARGEST_BODY: Final = 256 * 1024
LONGEST_PATH: Final = 100
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

Page = Callable[[Desk, Task], str]
Assets = Mapping[str, tuple[str, bytes]]


class Given(Record):
    """What the page sends for a cell, which it names: a page may be older than the server."""

    trace: str
    criterion: str
    label: Word
    refs: tuple[RefSpec, ...] = ()
    note: str | None = Field(default=None, max_length=LONGEST_NOTE)


def bound(port: int) -> socket.socket:
    """Return a socket that listens on loopback; port 0 is any free one."""
    if not 0 <= port <= 65535:
        raise LabelError(f"--port must be between 0 and 65535 (got {port})")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise LabelError(f"--port {port} cannot be used: {error.strerror}") from None
    return listening


def serve(app: ASGIApp, listening: socket.socket) -> None:
    """Answer until the process is told to end, which raises KeyboardInterrupt."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    # h11 bounds the headers; what is never sent to its end must not keep it from ending.
    config = uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listening])


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
    return Guard(Starlette(routes=routes), token, port)


class Guard:
    """Lets in only who knows the token, from this machine's own page; sets the headers."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._cookie = f"helix-labels-{port}"
        self._hosts = {f"{host}:{port}" for host in HOSTS}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        answer = self._answer(scope)
        await (answer or self._app)(scope, receive, headed)

    def _answer(self, scope: Scope) -> Response | None:
        """Return what to say instead of going on."""
        headers = Headers(scope=scope)
        if len(scope["path"]) > LONGEST_PATH:
            return PlainTextResponse("Not Found", 404)
        refusal = self._stranger(headers)
        if refusal is not None:
            return PlainTextResponse(refusal, 403)
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["method"] == "GET" and asked and self._is_token(asked[0]):
            into = RedirectResponse("/", status_code=303)
            into.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return into
        given = headers.get(TOKEN_HEADER)
        if self._is_token(given if given is not None else self._kept(headers)):
            if scope["method"] == "POST" and given is None and "origin" not in headers:
                return PlainTextResponse("A POST must say its Origin.", 403)
            return None
        return PlainTextResponse(
            "The token is missing or wrong: open the address that helix labels serve printed.", 403
        )

    def _stranger(self, headers: Headers) -> str | None:
        if headers.get("host") not in self._hosts:
            return "The Host must be this machine's loopback address."
        if headers.get("origin", next(iter(self._origins))) not in self._origins:
            return "Another origin may not ask."
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return "Another site may not ask: paste the address into the address bar."
        return None

    def _kept(self, headers: Headers) -> str | None:
        """Return the token of the cookie; cookies of other ports are sent along, in any shape."""
        pairs = (part.partition("=") for part in headers.get("cookie", "").split(";"))
        return next((value for name, _, value in pairs if name.strip() == self._cookie), None)

    def _is_token(self, given: str | None) -> bool:
        known = self._token.encode("utf-8")
        return given is not None and secrets.compare_digest(given.encode("utf-8", "replace"), known)


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
