"""`command`: a program of the user's answers, one process for each request.

The request goes in on standard input as JSON; what comes out on standard output is the reply, as
text, or as `{"helixReply": {…}}` where the program has more to tell. No shell is involved.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from helix.backends.settings import section_of
from helix.children import how_ended, keep_end, kill_group
from helix.errors import ConfigError
from helix.model.request import Reply, Request, Unavailable
from helix.redaction import redacted
from helix.registry import JudgeSettings

ENVELOPE = "helixReply"
TRY_AGAIN = 75
MOST_BYTES = 8_000_000
KEPT_BYTES = 64_000
KILL_WAIT_S = 5.0
TOLD_CHARACTERS = 300


class Command:
    """The backend that starts a program and reads what it prints."""

    def __init__(self, words: Sequence[str], key_variable: str | None = None) -> None:
        self._words, self._key_variable = tuple(words), key_variable

    async def __aenter__(self) -> Command:
        return self

    async def __aexit__(self, *exc: object) -> None:
        return None

    async def ask(self, request: Request) -> Reply:
        """Return what the program says; Unavailable, with the end of its complaint, if it fails.

        Exit status 75 (EX_TEMPFAIL) says that asking again may help. When nobody waits any more,
        the program is killed with all that it started.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *self._words,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Unavailable(f"{self._words[0]} could not be started: {error}") from None
        try:
            said, complaint = await _talked(process, _input(request))
        except BaseException:
            await _killed(process)
            raise
        if process.returncode:
            text = redacted(complaint.decode("utf-8", "replace"), self._key_variable)
            told = " ".join(text.split())[-TOLD_CHARACTERS:]
            raise Unavailable(
                f"{self._words[0]} {how_ended(process.returncode)}{f': {told}' if told else ''}",
                retry=process.returncode == TRY_AGAIN,
            )
        return _reply(said, self._key_variable)


def open_command(settings: JudgeSettings) -> Command:
    """Open the program that `judge.command` names, found as a shell would find it."""
    key, config = f"{section_of(settings)}.command", settings.config
    if not config.command:
        raise ConfigError(f"{key} must name a program (got nothing): add {key}=[PROGRAM,ARGUMENT]")
    program = config.command[0]
    if shutil.which(program) is None:
        what = "is no file that can be run" if Path(program).exists() else "is not found"
        raise ConfigError(f"{key} must begin with a program ({program} {what})")
    return Command(config.command, config.api_key_env)


def _input(request: Request) -> bytes:
    # ASCII, so that a lone surrogate of a trace arrives as its escape; in the order of the schema,
    # so that a program that hands it on asks for the critique before the result (METHOD 3).
    return json.dumps(msgspec.to_builtins(request), ensure_ascii=True).encode()


async def _talked(process: asyncio.subprocess.Process, data: bytes) -> tuple[bytes, bytes]:
    """Return what a program printed, whole, and the end of what it complained of."""
    assert process.stdin and process.stdout and process.stderr

    async def feed(stdin: asyncio.StreamWriter) -> None:
        # A program need not read what it is given.
        with contextlib.suppress(ConnectionError):
            stdin.write(data)
            await stdin.drain()
        with contextlib.suppress(ConnectionError):
            stdin.close()
            await stdin.wait_closed()

    said = asyncio.create_task(_read(process.stdout))
    complaint = asyncio.create_task(_end_of(process.stderr))
    tasks = (said, complaint, *map(asyncio.create_task, (feed(process.stdin), process.wait())))
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    return said.result(), complaint.result()


async def _read(stream: asyncio.StreamReader) -> bytes:
    whole = bytearray()
    while part := await stream.read(65_536):
        whole += part
        if len(whole) > MOST_BYTES:
            raise Unavailable(f"the program printed more than {MOST_BYTES:,} bytes", "judge-error")
    return bytes(whole)


async def _end_of(stream: asyncio.StreamReader) -> bytes:
    end = bytearray()
    while part := await stream.read(65_536):
        end += part
        keep_end(end, KEPT_BYTES)
    return bytes(end)


async def _killed(process: asyncio.subprocess.Process) -> None:
    """Kill a program and its group, which outlives a program that left children behind."""
    kill_group(process)
    assert process.stdout and process.stderr
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(KILL_WAIT_S):
            await asyncio.gather(process.wait(), _end_of(process.stdout), _end_of(process.stderr))


def _reply(said: bytes, key_variable: str | None) -> Reply:
    try:
        text = redacted(said.decode("utf-8"), key_variable)
    except UnicodeDecodeError as error:
        raise Unavailable(
            f"the program printed no UTF-8 (byte {error.start})", "judge-error"
        ) from None
    told = _envelope(text)
    if told is None:
        return Reply(text=text)
    try:
        reply = msgspec.convert(told, Reply)
    except msgspec.ValidationError as error:
        raise Unavailable(f"{ENVELOPE} is no reply: {error}", "judge-error") from None
    return msgspec.structs.replace(reply, source="live")


def _no_number(literal: str) -> Any:
    raise ValueError(literal)


def _envelope(text: str) -> Any:
    """Return what stands under `helixReply` where the whole output is an object of that one key."""
    try:
        value = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        return None
    return value[ENVELOPE] if isinstance(value, dict) and list(value) == [ENVELOPE] else None
