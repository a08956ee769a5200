"""An OpenAI-compatible server on loopback that answers as scripted, faults included.

In a test: `with FaultServer("rate-limited", times=2) as server`, then `server.base_url`. As a
process: `python -m tests.backends.fault_server --delay 0.2` prints its base URL; `GET /counts`
tells how often each prompt was asked, and `POST /reset` forgets it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import email.utils
import http.client
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

from helix.model.canonical import digest_bytes
from tests.moments import LIMIT_S, until

SCHEMA = re.compile(r"^Schema of the answer: (.+)$", re.MULTILINE)
NONCE = re.compile(r'^Put "nonce": "(\w+)" first\.$', re.MULTILINE)
SAID = "The server that scripts answers has not read the recording."
PROSE = "No JSON here."
Content = Callable[["Asked"], str]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: its body, the digest of its messages, how often that was asked, its key."""

    body: dict[str, Any]
    digest: str
    time: int
    authorization: str | None

    @property
    def prompt(self) -> str:
        return "\n".join(str(message["content"]) for message in self.body["messages"])


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back; `ending` says whether the connection outlives it."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: Literal["whole", "cut", "reset", "hang"] = "whole"


Script = Callable[[Asked], Answer]


def abstention(asked: Asked) -> str:
    """A well-formed answer to Helix's own prompts: the judge abstains, the verifier agrees."""
    schema, nonce = SCHEMA.search(asked.prompt), NONCE.search(asked.prompt)
    if schema is None or nonce is None:
        return PROSE
    properties = json.loads(schema[1])["properties"]
    if "reviews" in properties:
        rows = properties["reviews"]["items"]["properties"]["criterionId"]["enum"]
        said = {"against": SAID, "leap": None, "leapKind": None, "entails": True}
        return json.dumps(
            {"nonce": nonce[1], "reviews": [{"criterionId": row, **said} for row in rows]}
        )
    blocked = {"kind": "factual-intent", "text": "a judge that reads the recording"}
    verdicts = [
        {"criterionId": row, "critique": SAID, "blockedBy": blocked, "result": "uncertain"}
        for row in properties["verdicts"]["items"]["properties"]["criterionId"]["enum"]
    ]
    walk = {
        "nonce": nonce[1],
        "understanding": {"rephrase": SAID, "given": [], "inferred": []},
        "expectedTrajectory": [{"expected": SAID}],
        "judgeSteps": [{"kind": "gather", "text": SAID}],
        "fidelity": {"complete": True},
    }
    return json.dumps({**walk, "verdicts": verdicts})


def completion(asked: Asked, content: str | None, **changes: Any) -> Answer:
    """A chat completion; `changes` replace fields of it, `message` and `finish_reason` inside."""
    message = {"role": "assistant", "content": content, **changes.pop("message", {})}
    ends = changes.pop("finish_reason", "stop")
    tokens = len(asked.prompt) // 4
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": ends}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5},
        **changes,
    }
    return Answer(json.dumps({k: v for k, v in body.items() if v is not None}).encode())


def error(status: int, message: str, code: str, param: str | None = None, **headers: str) -> Answer:
    """An error as OpenAI-compatible servers word it."""
    told = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps({"error": told}).encode(), status, named)


def _refuses(param: str, message: str) -> Callable[[Asked, Content], Answer]:
    """Refuse one parameter, as a provider that lacks it does; without it, answer."""

    def answer(asked: Asked, content: Content) -> Answer:
        if param in asked.body:
            return error(400, message, "unsupported_value", param)
        return completion(asked, content(asked))

    return answer


def _date(seconds: float) -> str:
    return email.utils.formatdate(time.time() + seconds, usegmt=True)


FAULTS: dict[str, Callable[[Asked, Content], Answer]] = {
    "none": lambda a, c: completion(a, c(a)),
    "rate-limited": lambda a, c: error(429, "Slow down.", "rate_limit", Retry_After="2"),
    "rate-limited-until": lambda a, c: error(429, "Slow.", "rate_limit", Retry_After=_date(30)),
    "no-quota": lambda a, c: error(429, "You exceeded your quota.", "insufficient_quota"),
    "server-error": lambda a, c: error(500, "It broke.", "server_error"),
    "overloaded": lambda a, c: error(503, "Overloaded.", "overloaded", Retry_After="3"),
    "reset": lambda a, c: Answer(ending="reset"),
    "hang": lambda a, c: Answer(ending="hang"),
    "html": lambda a, c: Answer(b"<html>Sign in</html>", headers={"Content-Type": "text/html"}),
    "cut-connection": lambda a, c: Answer(completion(a, c(a)).body, ending="cut"),
    "cut-json": lambda a, c: Answer(completion(a, c(a)).body[:-40]),
    "cut-content": lambda a, c: completion(a, c(a)[:30], finish_reason="length"),
    "no-choices": lambda a, c: completion(a, None, choices=[]),
    "no-content": lambda a, c: completion(a, None),
    "refusal": lambda a, c: completion(a, None, message={"refusal": "I can't help with that."}),
    "filtered": lambda a, c: completion(a, "", finish_reason="content_filter"),
    "reasoning": lambda a, c: completion(a, c(a), message={"reasoning_content": "Let me see."}),
    "no-usage": lambda a, c: completion(a, c(a), usage=None),
    "no-prompt-usage": lambda a, c: completion(a, c(a), usage={"completion_tokens": 5}),
    "no-answer-usage": lambda a, c: completion(a, c(a), usage={"prompt_tokens": 7}),
    "other-model": lambda a, c: completion(a, c(a), model="another-1"),
    "dated-model": lambda a, c: completion(a, c(a), model=f"{a.body['model']}-2024-08-06"),
    "no-model": lambda a, c: completion(a, c(a), model=None),
    "too-long": lambda a, c: error(
        400, "This model's maximum context length is 8 tokens.", "context_length_exceeded"
    ),
    "unknown-model": lambda a, c: error(404, "The model does not exist.", "model_not_found"),
    "wrong-key": lambda a, c: error(
        401, f"Incorrect API key provided: {a.authorization}.", "invalid_api_key"
    ),
    "refuses-temperature": _refuses(
        "temperature", "'temperature' does not support 0 with this model. Only 1 is supported."
    ),
    "refuses-seed": _refuses("seed", "Unsupported parameter: 'seed'."),
    "refuses-max-tokens": _refuses(
        "max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    ),
    "refuses-schema": _refuses(
        "response_format", "Invalid parameter: 'response_format' of type 'json_schema'."
    ),
}


class FaultServer:
    """The server, in a thread of its own; a context manager.

    The first `times` requests of a prompt meet the fault (None: all of them), and of all requests
    only every `every`-th; the others are answered with `content`. Each answer takes `delay`
    seconds, and none is sent before `together` requests have come in. `asked`, `counts` (by prompt
    digest) and `most_at_once` say what came in.
    """

    def __init__(
        self,
        fault: str | Script = "none",
        *,
        content: Content = abstention,
        times: int | None = None,
        every: int = 1,
        delay: float = 0.0,
        together: int = 0,
        port: int = 0,
    ) -> None:
        self._fault, self._content = fault, content
        self._times, self._every, self._delay = times, every, delay
        self._together, self._acts = together, dict[int, Callable[[], None]]()
        self._port = port
        self.asked: list[Asked] = []
        self.counts: Counter[str] = Counter()
        self.most_at_once = self._at_once = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def at(self, moment: int, act: Callable[[], None]) -> None:
        """Have something done when so many requests have come in, before the last is answered."""
        self._acts[moment] = act

    def settle(self) -> None:
        """Wait until all that was sent by those who are gone has come in."""
        last = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LIMIT_S)
        last.request("GET", "/counts")  # Connections are taken in their order.
        last.getresponse().read()
        last.close()
        until(lambda: not self._connections)

    def __enter__(self) -> FaultServer:
        self._thread.start()
        assert self._ready.wait(LIMIT_S)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(LIMIT_S)

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._connected, "127.0.0.1", self._port, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        async with server:
            await self._end.wait()
            for task in self._connections:
                task.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        # A client that is killed or gives up ends its connection where it stands, and so does
        # the end of the server, which asyncio's streams would report as an error.
        gone = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with contextlib.suppress(*gone):
            while await self._exchange(reader, writer):
                pass
        self._connections.discard(task)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; say whether the connection goes on."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head.split("\r\n")
        headers = {k.lower(): v.strip() for k, _, v in (one.partition(":") for one in rest)}
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        if not line.startswith("POST /v1"):
            writer.write(_http(self._told(line)))
            return True
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            answer = self._answer(json.loads(data), headers.get("authorization"))
            await asyncio.sleep(self._delay)
            while len(self.asked) < self._together:
                await asyncio.sleep(0.01)
        finally:
            self._at_once -= 1
        return await self._send(answer, writer)

    def _told(self, line: str) -> Answer:
        if line.startswith("POST"):
            self.counts.clear()
            self.asked.clear()
            self.most_at_once = 0
        told = {"counts": self.counts, "mostAtOnce": self.most_at_once}
        return Answer(json.dumps(told).encode())

    def _answer(self, body: dict[str, Any], authorization: str | None) -> Answer:
        digest = prompt_digest(body["messages"])
        self.counts[digest] += 1
        asked = Asked(body, digest, self.counts[digest], authorization)
        self.asked.append(asked)
        if act := self._acts.pop(len(self.asked), None):
            act()
        spared = self._times is not None and asked.time > self._times
        if spared or len(self.asked) % self._every:
            return completion(asked, self._content(asked))
        if callable(self._fault):
            return self._fault(asked)
        return FAULTS[self._fault](asked, self._content)

    async def _send(self, answer: Answer, writer: asyncio.StreamWriter) -> bool:
        if answer.ending == "hang":
            await self._end.wait()
        if answer.ending == "cut":
            writer.write(_http(answer)[:-40])
            await writer.drain()
        if answer.ending != "whole":
            writer.transport.abort()
            return False
        writer.write(_http(answer))
        await writer.drain()
        return True


def prompt_digest(messages: list[dict[str, Any]]) -> str:
    """The digest of a prompt as `Request.prompt_digest` takes it."""
    return digest_bytes(
        *(f"{m['role']}\n{m['content']}".encode("utf-8", "backslashreplace") for m in messages)
    )


def _http(answer: Answer) -> bytes:
    headers = {"Content-Type": "application/json", **answer.headers}
    headers["Content-Length"] = str(len(answer.body))
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {answer.status} Said\r\n{lines}\r\n".encode("latin-1") + answer.body


def main() -> None:
    parser = argparse.ArgumentParser(description="An OpenAI-compatible server that scripts faults.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds that an answer takes")
    parser.add_argument("--fault", choices=sorted(FAULTS), default="none")
    parser.add_argument("--every", type=int, default=1, help="only every n-th request meets it")
    parser.add_argument("--times", type=int, help="only the first n of a prompt meet it")
    options = vars(parser.parse_args())
    with FaultServer(options.pop("fault"), **options) as server:
        print(server.base_url, flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
