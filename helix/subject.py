"""The subject's profile over a batch: what the configuration says, and what the traces show.

Packets keep a profile of their own, with the tools of their trace alone: a trace that is added to
a batch must not change what was asked about the others (METHOD 31, 44).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from helix.model.config import SubjectConfig
from helix.model.manifest import Survey
from helix.model.subject import Known, SubjectRecord

UNKNOWN: Final = "unknown"
HARNESSES: Final = {
    "claude_code": "Claude Code",
    "codex": "Codex",
    "gemini_cli": "Gemini CLI",
    "mini_swe_agent": "mini-SWE-agent",
    "openhands": "OpenHands",
    "swe_agent": "SWE-agent",
}
"""Formats that one harness alone writes, so that they tell what the agent ran in."""


def subject_of(subject: SubjectConfig, tools: Sequence[str], survey: Survey) -> SubjectRecord:
    """Return what is known of a subject; `tools` are those that config and suite declare."""
    routes = Counter(entry.route for entry in survey.entries if entry.route is not None)
    formats = Counter(entry.format for entry in survey.entries)
    known = {
        "tools": _known(tools, survey.calling),
        "events": _known(subject.events, survey.events),
        "routes": _known(subject.routes, routes),
    }
    harness = subject.harness or _harness(formats)
    inferred = [name for name, found in known.items() if not all(one.given for one in found)]
    inferred += ["harness"] if subject.harness is None and harness != UNKNOWN else []
    given = (subject.purpose, subject.skill, subject.scope, subject.harness, subject.version,
             tools, subject.events, subject.routes)  # fmt: skip
    return SubjectRecord(
        identity=subject.name,
        provenance="given" if any(given) else "reconstructed",
        purpose=subject.purpose,
        skill=subject.skill,
        scope=subject.scope,
        harness=harness,
        version=subject.version,
        inferred_fields=tuple(inferred),
        tools=known["tools"],
        events=known["events"],
        routes=known["routes"],
        traces=len(survey.entries),
        formats=dict(sorted(formats.items())),
    )


def _known(given: Sequence[str], seen: Mapping[str, int]) -> tuple[Known, ...]:
    names = sorted({*given, *seen})
    return tuple(Known(name=n, given=n in given, traces=seen.get(n, 0)) for n in names)


def _harness(formats: Mapping[str, int]) -> str:
    """Return what wrote the traces, where their formats leave one answer."""
    found = {HARNESSES.get(name, UNKNOWN) for name in formats}
    return found.pop() if len(found) == 1 else UNKNOWN
