"""The server of `helix report serve`: what is asked for, by a name that is known, and no more."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from helix.labels import loopback

NAME = "helix report serve"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
POLICY = (
    "frame-ancestors 'none'; object-src 'none'; connect-src 'none'; frame-src 'none'; "
    "base-uri 'none'; form-action 'none'"
)
"""Beside the policy that each page brings, which names its script by digest."""


class Source(Protocol):
    """Where the pages come from."""

    def underway(self, *, still: bool = False) -> bytes:
        """Return the page that says how far the run is; a `still` one is not loaded again."""

    def page(self, name: str) -> bytes | None:
        """Return a page by its name; None where there is none."""


@dataclass(frozen=True, slots=True)
class Listening:
    """A server that is ready to answer, and the address that opens it."""

    app: ASGIApp
    socket: socket.socket
    url: str


def listen(source: Source, port: int) -> Listening:
    """Return a server on loopback; port 0 is any free one."""

    async def first(request: Request) -> Response:
        if await run_in_threadpool(source.page, "report.html") is not None:
            return RedirectResponse("/report.html", status_code=303)
        still = "still" in request.query_params
        return _html(await run_in_threadpool(lambda: source.underway(still=still)))

    async def shown(request: Request) -> Response:
        name = request.url.path.removeprefix("/")
        data = await run_in_threadpool(source.page, name)
        if data is None and name == "report.html":
            return RedirectResponse("/", status_code=303)
        if data is None:
            return PlainTextResponse("There is no such page.", 404)
        kind = KINDS[name.rpartition(".")[2]]
        return Response(data, media_type=f"{kind}; charset=utf-8")

    bound = loopback.bound(port)
    own, token = bound.getsockname()[1], loopback.new_token()
    routes = [
        Route("/", first),
        Route("/report.html", shown),
        Route("/report/{leaf}", shown),
    ]
    pages = Starlette(routes=routes)
    pages.router.redirect_slashes = False
    app = loopback.Guard(pages, token, own, NAME, POLICY)
    return Listening(app, bound, f"http://{loopback.HOST}:{own}/?token={token}")


def serve(listening: Listening) -> None:
    """Answer until the process is told to end, which raises KeyboardInterrupt (`until_told`)."""
    loopback.serve(listening.app, listening.socket)


def _html(data: bytes) -> Response:
    return Response(data, media_type="text/html; charset=utf-8")
