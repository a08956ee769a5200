"""Serving pages to this machine alone: the socket, who is let in, the headers (DESIGN “Safety”).

Whoever asks must know the token, which the address that is printed holds once and a cookie after
that; the Host must be loopback and the Origin, where a browser sends one, the page's own.
"""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import parse_qs

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from helix.errors import UsageError

HOST: Final = "127.0.0.1"
HOSTS: Final = ("127.0.0.1", "localhost", "[::1]")
TOKEN_HEADER: Final = "x-helix-token"
LONGEST_PATH: Final = 100
POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
TOKEN_BYTES: Final = 24


def bound(port: int) -> socket.socket:
    """Return a socket that listens on loopback; port 0 is any free one."""
    if not 0 <= port <= 65535:
        raise UsageError(f"--port must be between 0 and 65535 (got {port})")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise UsageError(f"--port {port} cannot be used: {error.strerror}") from None
    return listening


@contextlib.contextmanager
def until_told() -> Iterator[None]:
    """End a block, and no more than that, where the process is told to end: Ctrl-C or SIGTERM."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            yield
    finally:
        signal.signal(signal.SIGTERM, before)


def serve(app: ASGIApp, listening: socket.socket) -> None:
    """Answer until the process is told to end, which raises KeyboardInterrupt (`until_told`)."""
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


def new_token() -> str:
    """Return a token that nobody can guess."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class Guard:
    """Lets in only who knows the token, from this machine's own page; sets the headers.

    `name` is the command as it is typed; `policy` is the Content-Security-Policy of every answer.
    """

    def __init__(
        self, app: ASGIApp, token: str, port: int, name: str, policy: str = POLICY
    ) -> None:
        self._app, self._token, self._name = app, token, name
        self._headers = {**HEADERS, "Content-Security-Policy": policy}
        self._cookie = f"{name.partition(' serve')[0].replace(' ', '-')}-{port}"
        self._hosts = {f"{host}:{port}" for host in HOSTS}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self._headers)
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
            f"The token is missing or wrong: open the address that {self._name} printed.", 403
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
