"""Writes one trace in the order in which things happen, and keeps what was planted in it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from helix.demo.names import AGENCY, AGENT

START = 1_772_442_000_000_000_000  # 2026-03-02 09:00 UTC, in nanoseconds
MILLISECOND = 1_000_000
SYSTEM = f"""\
You are {AGENT}, the outreach agent of {AGENCY}. You write to talents, answer their emails, \
present roles and book interviews.
Rules:
1. Take an address only from lookupContact.
2. Before the first message of a new outreach, checkConsent must say that email is granted.
3. Every message needs its own draft approved by reviewDraft.
4. Under an outbound_guard that is not critical, hold: write nothing to the talent.
5. Say about a role only what getOpportunity returned.
6. Book only a slot that getCalendar offered, and only after the talent said yes to it.
7. When a tool fails, schedule a retry or hand over to a recruiter.
8. Say that something was done only if you did it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call with its result; without an id it gets a fresh one."""

    name: str
    arguments: dict[str, Any]
    result: dict[str, Any]
    id: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one row must say of the trace, the cause of an uncertain, the deciding seq."""

    state: str
    cause: str | None = None
    seq: int | None = None


class Recorder:
    """A trace being written: messages and calls share one running `seq`."""

    def __init__(self, route: str, prompt: str, rng: random.Random) -> None:
        self.route, self.rng = route, rng
        self.record: dict[str, Any] = {
            "schemaVersion": "1.0",
            "id": "",
            "route": route,
            "metadata": {"agent": AGENT, "release": "2026.3"},
            "input": {"prompt": prompt, "event": route, "system": SYSTEM},
            "output": {},
            "observations": [],
            "transcript": [],
        }
        self.planted: dict[str, Outcome] = {}
        self._seq = 0
        self._clock = START + rng.randrange(600_000) * MILLISECOND
        self.say("user", prompt)

    @property
    def tools(self) -> set[str]:
        """The names of the tools called so far."""
        return {o["name"] for o in self.record["observations"]}

    def say(self, role: str, text: str) -> int:
        """Write a message; return its seq."""
        return int(self._message(role, text)["seq"])

    def turn(self, text: str, *calls: Call, finish: Sequence[int] = ()) -> list[int]:
        """Write an agent's message that makes calls; return their seqs.

        Several calls run in parallel; `finish` gives their positions in the order in which the
        results came, by default the order of the calls.
        """
        message = self._message("assistant", text)
        written = [self._observation(call, message["id"]) for call in calls]
        message["observationIds"] = [o["id"] for o in written]
        for at in finish or range(len(written)):
            self._clock += self.rng.randrange(80, 1900) * MILLISECOND
            written[at]["endTime"] = self._clock
        return [int(o["seq"]) for o in written]

    def call(self, name: str, result: dict[str, Any], **arguments: Any) -> int:
        """Write a turn of one call without words; return its seq."""
        return self.turn("", Call(name, arguments, result))[0]

    def finish(self, response: str | None, **state: Any) -> int:
        """Write the end: the response as last message (none where it is missing) and the state."""
        seq = self._seq - 1
        if response is not None:
            self.record["output"]["response"] = response
            seq = self.say("assistant", response)
        self.record["output"]["state"] = state
        if self.rng.random() < 0.8:
            self.record["usage"] = {
                "promptTokens": self.rng.randrange(1800, 6400),
                "completionTokens": self.rng.randrange(60, 900),
                "latencyMs": self.rng.randrange(1200, 14000),
            }
        return seq

    def plant(
        self, row: str, state: str, *, cause: str | None = None, seq: int | None = None
    ) -> Recorder:
        """Note what a row must say here, against what it says of any trace of the route."""
        self.planted[row] = Outcome(state, cause, seq)
        return self

    def _message(self, role: str, text: str) -> dict[str, Any]:
        at = len(self.record["transcript"]) + 1
        message = {
            "id": f"m{at}",
            "seq": self._next(),
            "role": role,
            "text": text,
            "observationIds": [],
        }
        self.record["transcript"].append(message)
        return message

    def _observation(self, call: Call, turn: str) -> dict[str, Any]:
        self._clock += self.rng.randrange(40, 400) * MILLISECOND
        observation: dict[str, Any] = {
            "id": call.id or f"call-{self.rng.randrange(16**6):06x}",
            "seq": self._next(),
            "type": "TOOL",
            "name": call.name,
            "input": call.arguments,
            "output": call.result,
            "startTime": self._clock,
            "parentId": turn,
        }
        if call.flags:
            observation["flags"] = list(call.flags)
        self.record["observations"].append(observation)
        return observation

    def _next(self) -> int:
        self._seq += 1
        return self._seq - 1
