"""What a question shows, read back from its text: the recording as a trace, its rows, its claims.

Whoever answers a question that was set down as a file (METHOD 38) has its text alone. Read back,
what they cite is looked up by the code that grounds every answer, as soon as it is typed. The
verdict is still the run's, which looks again in the trace itself: what is read back wrongly, of a
hostile id, costs a second question and decides nothing.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import re2

from helix.errors import PathError
from helix.fieldpath import Step, parse_relative
from helix.grounding import Ground, repeat_scan, resolved, settle
from helix.grounding.bind import naming
from helix.grounding.texts import Leaf, fold, leaves, stands_in
from helix.judging.conversation import faults
from helix.judging.reply import Unusable, read
from helix.judging.rubric import ONE_CRITERION
from helix.model.packet import PacketRow, Premise
from helix.model.request import Reply, Request
from helix.model.trace import TOOL, Message, Observation, Source, Trace
from helix.model.verdict import Ref, Scan

MARGIN = "    "
GOAL = "## what the agent was asked"
_HELD = (GOAL, "## what was said and done, in order", "## what it ended with")
_SEEN_TOOLS = "## tools that the agent is seen to have"
_ASKED = ("## criteria", "## the criterion")
_SCHEMA = "Schema of the answer: "
_WHOLE = "The recording is shown whole."
_STEP = re.compile(r"\[(.*?)\] step \d+: (\S+) (.*?)(?: flags: .*)?")
_MESSAGE = re.compile(r"\[(.*?)\] text — message, (.*?)( \(control text, not a person\))?")
_SAME = re.compile(
    r"\[(.*?)\] (.*) — word for word the text of message \[(.*)\] below, shown there"
)
_LEAF = re.compile(r" {0,2}\[(.*?)\] (.+)")
_PREMISE = re.compile(r"\[(.*?)\] text — premise, (factual-intent|normative|scope), .*")
_PARTS = {
    "input": "input", "output": "output", "error": "error", "level": "level", "status": "status",
    "startTime": "start_time", "endTime": "end_time", "parentId": "parent_id",
}  # fmt: skip
_FARTHEST = 1_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is read: lines to show, and what citations are looked up in.

    `goal` is what the agent was asked, `course` what it did, `around` what is known besides; `rows`
    and `claims` hold the lines of each criterion, `terms` those of its terms that code does not
    look up by itself. `whole` says that all of the trace is shown; `repeated` are places whose text
    is shown, and to be cited, as a message's.
    """

    ground: Ground
    goal: tuple[str, ...]
    course: tuple[str, ...]
    around: tuple[str, ...]
    terms: Mapping[str, tuple[str, ...]]
    rows: Mapping[str, tuple[str, ...]]
    claims: Mapping[str, tuple[str, ...]]
    whole: bool
    repeated: frozenset[tuple[str, str]]

    def places(self, words: str) -> list[tuple[Ref, str]]:
        """Return each place at which words stand, as a resolved ref, with all that stands there.

        Where they are the whole of one place alone, that place is meant.
        """
        cited = fold(words)
        found = [x for x in self._leaves() if stands_in(cited, fold(x.text))]
        refs = self.ground.resolved([Ref(obs=x.obs, path=x.path, value=words) for x in found])
        there = zip(refs, (leaf.text for leaf in found), strict=True)
        standing = [(ref, text) for ref, text in there if ref.match != "dead"]
        whole = [(ref, text) for ref, text in standing if fold(text) == cited]
        return whole if len(whole) == 1 else standing

    def absence(self, channel: str, pattern: str) -> Ref:
        """Return the look through a channel for what is not there; dead where it shows nothing."""
        if not self.whole:
            note = "a scan needs the whole recording, and this question shows a part of it"
            return Ref(obs=self.ground.trace.id, path=channel, match="dead", note=note)
        scan = Scan(channel=channel, pattern=pattern, items=0, matches=0)
        with contextlib.suppress(PathError, UnicodeError, re2.error):
            scan = repeat_scan(self.ground.trace, scan)
        scan = msgspec.structs.replace(scan, matches=0)
        ref = Ref(obs=self.ground.trace.id, path=channel, scan=scan)
        return self.ground.resolved([ref])[0]

    def wrong(self, criterion: str, nonce: str, cell: dict[str, Any]) -> list[str]:
        """Return what a run would find wrong with the evidence of one row's cell."""
        part = "notApplicable" if cell.get("result") == "na" else "verdicts"
        text = json.dumps({"nonce": nonce, "verdicts": [], part: [cell]})
        answer = read(Reply(text=text), nonce, [criterion])
        if isinstance(answer, Unusable):
            return [answer.reason]
        terms = self.terms[criterion]
        row = PacketRow(criterion_id=criterion, statement="", severity="unset", terms=terms)
        found = [x.removeprefix(f"{criterion}: ") for x in faults(answer, [row], self.ground)]
        verdict = answer.verdicts.get(criterion)
        if found or verdict is None or verdict.result == "uncertain":
            return found
        stands = settle(resolved(verdict, self.ground), terms, self.ground)
        told = stands.blocked_by.text if stands.blocked_by else ""
        return [] if stands.result == verdict.result else [told]

    def _leaves(self) -> Iterator[Leaf]:
        trace = self.ground.trace
        yield from (x for x in leaves(trace) if (x.obs, x.path) not in self.repeated)
        yield from (Leaf(step.id, "name", step.name) for step in trace.observations)
        yield from (Leaf(premise.id, "text", premise.text) for premise in self.ground.premises)


def read_back(request: Request) -> Asked:
    """Return what a judge's or verifier's question shows."""
    lines = next((m.content.split("\n") for m in request.messages if m.role == "user"), [])
    inside, rest = _fenced(lines, "RECORDING", request.nonce)
    judged, rest = _fenced(rest, "VERDICTS", request.nonce)
    wanted, rest = _fenced(rest, "ASKED", request.nonce)
    expected, rest = _fenced(rest, "EXPECTED", request.nonce)
    ends = (n for n, line in enumerate(rest) if line in _ASKED or line.startswith(_SCHEMA))
    at = next(ends, len(rest))
    around, asked = rest[:at], rest[at + 1 :]
    found = _Reading(inside[0].removeprefix("recording id: ") if inside else "")
    sections = _sections(inside)
    for name in _HELD:
        found.take(sections.get(name, ()))
    rows = _rows(asked, request.unit.criteria)
    ground = _ground(found, around, sections)
    return Asked(
        ground=ground,
        goal=tuple(wanted or found.shown(_only(inside, GOAL))),
        course=tuple(_but(inside, GOAL)),
        around=(*around, *expected),
        terms={row: _terms(rows[row], ground.tools) for row in rows},
        rows=rows,
        claims=dict(zip(request.unit.criteria, _claims(judged), strict=False)),
        whole=_WHOLE in rest,
        repeated=frozenset((obs, path) for obs, path, _ in found.same),
    )


def _ground(
    found: _Reading, around: Sequence[str], sections: Mapping[str, Sequence[str]]
) -> Ground:
    return Ground(
        trace=found.trace(),
        complete_channels=_listed(around, "channels declared complete: "),
        tools=frozenset((*_listed(around, "tools: "), *_tools(sections), *found.called())),
        premises=tuple(_premises(around)),
        verified=True,  # weak evidence is told where it is typed, and a verifier may carry it
    )


@dataclass(slots=True)
class _Reading:
    """The recording so far: its id, its steps and messages, and the values of each by id."""

    id: str
    items: list[Observation | Message] = field(default_factory=list)
    values: dict[str, dict[str, Any]] = field(default_factory=dict)
    same: list[tuple[str, str, str]] = field(default_factory=list)

    def take(self, lines: Sequence[str]) -> None:
        for head, text in _headed(lines):
            if step := _STEP.fullmatch(head):
                self.items.append(Observation(step[1], len(self.items), step[3], step[2]))
            elif said := _MESSAGE.fullmatch(head):
                self.items.append(
                    Message(said[1], len(self.items), said[2], text, control=bool(said[3]))
                )
            elif same := _SAME.fullmatch(head):
                self.same.append((same[1], same[2], same[3]))
            elif leaf := _LEAF.fullmatch(head):
                self._put(leaf[1], leaf[2], text)

    def shown(self, goal: Sequence[str]) -> Iterator[str]:
        """Yield the lines of what was asked, with the text of a message where one is named."""
        said = {m.id: m.text for m in self.items if isinstance(m, Message)}
        for line in goal:
            yield line
            if same := _SAME.fullmatch(line):
                yield from (MARGIN + x for x in said.get(same[3], "").split("\n"))

    def trace(self) -> Trace:
        said = {m.id: m.text for m in self.items if isinstance(m, Message)}
        for obs, path, message in self.same:
            self._put(obs, path, said.get(message, ""))
        own = self.values.get(self.id, {})
        done = [o for o in self.items if isinstance(o, Observation)]
        return Trace(
            id=self.id,
            source=Source("", 0, "helix", ""),
            input=own.get("input"),
            output=own.get("output"),
            metadata=own.get("metadata", {}),
            usage=own.get("usage", {}),
            observations=[_with(o, self.values.get(o.id, {})) for o in done],
            transcript=[m for m in self.items if isinstance(m, Message)],
            _raw=own.get("raw"),
        )

    def called(self) -> Iterator[str]:
        return (o.name for o in self.items if isinstance(o, Observation) and o.type == TOOL)

    def _put(self, obs: str, path: str, text: str) -> None:
        try:
            steps = parse_relative(path).steps
        except PathError:
            return
        held = self.values.setdefault(obs, {})
        self.values[obs] = _grown(held, steps, text)


def _grown(held: Any, steps: tuple[Step, ...], text: str) -> Any:
    """Return a value with a text at an address below it; lists have None where nothing is shown."""
    if not steps:
        return text
    first, *rest = steps
    if isinstance(first, str):
        held = held if isinstance(held, dict) else {}
        held[first] = _grown(held.get(first), tuple(rest), text)
        return held
    held = held if isinstance(held, list) else []
    if isinstance(first, int) and 0 <= first < len(held) + _FARTHEST:
        held += [None] * (first + 1 - len(held))
        held[first] = _grown(held[first], tuple(rest), text)
    return held


def _with(step: Observation, values: Mapping[str, Any]) -> Observation:
    given = {name: values[key] for key, name in _PARTS.items() if key in values}
    given = {"input": None, "output": None, **given}
    return Observation(step.id, step.seq, step.name, step.type, **given)


def _fenced(lines: list[str], word: str, nonce: str) -> tuple[list[str], list[str]]:
    """Return the lines inside of a fence, and those outside of it."""
    try:
        first, last = lines.index(f"<<<{word} {nonce}"), lines.index(f"{word} {nonce}>>>")
    except ValueError:
        return [], lines
    return lines[first + 1 : last], lines[:first] + lines[last + 1 :]


def _sections(lines: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    held: list[str] = []
    for line in lines:
        if line.startswith("## "):
            held = found.setdefault(line, [])
        else:
            held.append(line)
    return found


def _only(lines: Sequence[str], section: str) -> list[str]:
    held = _sections(lines).get(section, ())
    return [section, *held] if any(held) else []


def _but(lines: Sequence[str], section: str) -> Iterator[str]:
    inside = False
    for line in lines:
        if line.startswith("## "):
            inside = line == section
        if not inside:
            yield line


def _headed(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each heading with the text behind the margin below it."""
    head, text = None, list[str]()
    for line in (*lines, "["):
        if line.startswith(MARGIN):
            text.append(line.removeprefix(MARGIN))
        elif line.startswith(("[", "  [")):
            if head is not None:
                yield head, "\n".join(text)
            head, text = line, []


def _listed(lines: Sequence[str], label: str) -> tuple[str, ...]:
    found = next((x.removeprefix(label) for x in lines if x.startswith(label)), "none")
    return () if found == "none" else tuple(found.split(", "))


def _terms(lines: Sequence[str], tools: frozenset[str]) -> tuple[str, ...]:
    named = _listed(lines, "Terms to bind: ")
    return tuple(term for term in named if naming(term, tools).kind == "words")


def _tools(sections: Mapping[str, Sequence[str]]) -> Iterator[str]:
    named = sections.get(_SEEN_TOOLS, ())
    return (line.removeprefix(MARGIN) for line in named if line.startswith(MARGIN))


def _premises(lines: Sequence[str]) -> Iterator[Premise]:
    for head, text in _headed(lines):
        if told := _PREMISE.fullmatch(head):
            yield Premise(id=told[1], text=text, kind=told[2], by="", at="")  # type: ignore[arg-type]


def _rows(lines: Sequence[str], criteria: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the lines of each row, its heading first."""
    heads = {f"### {criterion}": criterion for criterion in criteria}
    found: dict[str, tuple[str, ...]] = dict.fromkeys(criteria, ())
    row = None
    for line in lines:
        if line.startswith(_SCHEMA) or line == ONE_CRITERION.rstrip("\n"):
            break
        row = heads.get(line, row)
        if row is not None:
            found[row] += (line,)
    return found


def _claims(lines: Sequence[str]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for line in lines:
        found = [*found, ()] if line.startswith("[") else found
        if found:
            found[-1] += (line,)
    return found
