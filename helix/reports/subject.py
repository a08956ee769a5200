"""Who was evaluated, in words: what is given and what was inferred are told apart (METHOD 31)."""

from __future__ import annotations

from collections.abc import Sequence

from helix.model.subject import Known, SubjectRecord
from helix.reports.summary import listed
from helix.reports.words import NOT_RECORDED, counted, recorded

_SHOWN = 40
_NAMED = 6


def subject_facts(record: SubjectRecord) -> list[tuple[str, str]]:
    """Return what is known of a subject as name and value; the rest is told as not recorded."""
    inferred = "harness" in record.inferred_fields
    return [
        ("name", record.identity),
        ("purpose", recorded(record.purpose)),
        ("scope", recorded(record.scope)),
        ("skill", recorded(record.skill)),
        ("version", recorded(record.version)),
        ("harness", record.harness + " (inferred)" * inferred),
        ("tools", _told(record.tools)),
        ("events", _told(record.events)),
        ("routes", _told(record.routes)),
        ("formats", ", ".join(f"{name} {n:,}" for name, n in record.formats.items()) or "none"),
        ("traces", f"{record.traces:,}; a number behind a name is how many show it"),
    ]


def subject_line(record: SubjectRecord) -> str:
    """Return in one sentence who it is, and what the configuration does not name."""
    told = [f"harness {record.harness}"]
    for noun, known in (("tool", record.tools), ("event", record.events), ("route", record.routes)):
        more = [one.name for one in known if not one.given]
        also = f", and not given {listed(more, _NAMED, 'see subject.json')}" if more else ""
        told.append(f"{counted(len(known) - len(more), noun)} given{also}")
    return f"{record.identity}; {'; '.join(told)}"


def _told(known: Sequence[Known]) -> str:
    """Return the names by where they are from, each with how many traces show it."""
    parts = []
    for source, given in (("given", True), ("inferred", False)):
        names = [f"{one.name} {one.traces:,}" for one in known if one.given is given]
        if names:
            parts.append(f"{source}: {listed(names, _SHOWN, 'see subject.json')}")
    return "; ".join(parts) or NOT_RECORDED
