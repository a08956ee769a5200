"""From packet to request: deterministic text, the trace fenced by a nonce, criteria after it.

The trace comes first so that providers' prefix caches serve the re-prompts. The nonce is 128
bits of the digest of the rendered text without it, derived again with a counter should it occur
in that text; it cannot be guessed from inside the trace without knowing the whole prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from helix.judging.rubric import RUBRICS, reply_schema
from helix.model.canonical import declared_text, encoded
from helix.model.packet import Leaf, MatrixPacket, PacketRow, ShownMessage, ShownStep, cut_mark
from helix.model.request import Message, Pin, Request, Unit
from helix.model.verdict import ExpectedStep

Body = Callable[[str], list[str]]
"""The lines of a prompt, by the nonce in them."""
MOST_NAMES = 200
NAME_CHARACTERS = 300
ECHO_CHARACTERS = 40_000
MOST_FAULTS = 50
FAULT_CHARACTERS = 2_000


def render(
    packet: MatrixPacket,
    unit: Unit,
    pin: Pin,
    channels: tuple[str, ...],
    expected: Sequence[ExpectedStep] = (),
) -> Request:
    """Return the first request of a unit; `expected` is what the judge expected beforehand."""
    ids = tuple(row.criterion_id for row in packet.criteria)
    schema = reply_schema(ids, expects=not expected)
    body = _body(packet, channels, schema, expected)
    nonce, messages = prompt(RUBRICS[unit.axis], body)
    return Request(unit, pin, messages, nonce, schema)


def prompt(rubric: str, body: Body) -> tuple[str, tuple[Message, ...]]:
    """Return the nonce of a prompt, and its messages with that nonce in them."""
    first, *rest = body("")
    nonce = derive_nonce(rubric + first, *rest)
    return nonce, (Message("system", rubric), Message.of("user", body(nonce)))


def again(request: Request, answer: str, faults: list[str], unit: Unit) -> Request:
    """Return the re-prompt that names what was wrong with an answer (METHOD 40, 46).

    A fault may name ids of the trace, so it is kept on its line. A long answer is repeated without
    its middle, and of many faults the first are named; both say how much is left out.
    """
    listed = "\n".join(
        f"- {on_one_line(fault[:FAULT_CHARACTERS])}" for fault in faults[:MOST_FAULTS]
    )
    if len(faults) > MOST_FAULTS:
        listed += f"\n- and {len(faults) - MOST_FAULTS} more"
    text = (
        "Your answer cannot be used as it stands:\n"
        f"{listed}\n"
        "Answer again with the whole JSON object by the same schema, the nonce "
        f"{request.nonce} in it. Change a result if the evidence does not carry it."
    )
    messages = (*request.messages, Message("assistant", _echo(answer)), Message("user", text))
    return Request(unit, request.pin, messages, request.nonce, request.reply_schema)


def _echo(answer: str) -> str:
    left_out = len(answer) - ECHO_CHARACTERS
    if left_out <= 0:
        return answer
    half = ECHO_CHARACTERS // 2
    return answer[:half] + cut_mark(left_out) + answer[-half:]


def derive_nonce(*lines: str) -> str:
    """Return 32 hex digits that do not occur in the lines."""
    text = encoded(lines)
    counter = 0
    while True:
        nonce = hashlib.sha256(b"%d\n%b" % (counter, text)).hexdigest()[:32]
        if nonce.encode() not in text:
            return nonce
        counter += 1


def recording(packet: MatrixPacket) -> Body:
    """Return what writes a packet's recording inside the fence of a nonce, then what is not shown.

    It is rendered once, for the nonce is derived from the text without it.
    """
    inside, after = _inside(packet), _coverage(packet)
    return lambda nonce: [f"<<<RECORDING {nonce}", *inside, f"RECORDING {nonce}>>>", "", after]


def _inside(packet: MatrixPacket) -> list[str]:
    parts = [f"recording id: {on_one_line(packet.trajectory_id)}"]
    if packet.route is not None:
        parts.append(f"route: {on_one_line(packet.route)}")
    parts += ["", "## what the agent was asked", *map(leaf_text, packet.input)]
    parts += ["", "## what was said and done, in order"]
    items: list[Any] = sorted([*packet.transcript, *packet.trajectory], key=lambda i: i.seq)
    parts += [message_text(i) if isinstance(i, ShownMessage) else step_text(i) for i in items]
    parts += ["", "## what it ended with", *map(leaf_text, packet.output)]
    return [*parts, *_aside(packet)]


def surroundings(packet: MatrixPacket, channels: tuple[str, ...]) -> list[str]:
    """Return what is known besides the recording: the agent, premises, complete channels."""
    parts = ["", "## the agent", _profile(packet)]
    if packet.premises:
        parts += ["", "## premises that people vouch for"]
        parts += [
            f"[{on_one_line(p.id)}] text — premise, {p.kind}, {on_one_line(p.by)}, "
            f"{on_one_line(p.at)}\n{indented(p.text)}"
            for p in packet.premises
        ]
    declared = ", ".join(channels) or "none"
    return [*parts, "", f"channels declared complete: {declared}"]


def _body(
    packet: MatrixPacket,
    channels: tuple[str, ...],
    schema: dict[str, Any],
    expected: Sequence[ExpectedStep],
) -> Body:
    fenced, around = recording(packet), surroundings(packet, channels)
    asked = ["", "## criteria", *map(row_text, packet.criteria)]
    asked += ["", f"Schema of the answer: {declared_text(schema)}"]

    def body(nonce: str) -> list[str]:
        parts = [*fenced(nonce), *around, *_expectation(expected, nonce), *asked]
        return [*parts, f'Put "nonce": "{nonce}" first.']

    return body


def _expectation(expected: Sequence[ExpectedStep], nonce: str) -> list[str]:
    if not expected:
        return []
    parts = ["", f"<<<EXPECTED {nonce}", "what you expected before you saw what was done:"]
    for number, step in enumerate(expected, 1):
        why = f" (because: {step.rationale})" if step.rationale else ""
        parts.append(f"{number}.\n{indented(step.expected + why)}")
    return [*parts, f"EXPECTED {nonce}>>>"]


def leaf_text(leaf: Leaf) -> str:
    """Return a leaf as the prompt shows it: the heading that cites it, then its text."""
    if leaf.same_as is not None:
        where = (
            f"word for word the text of message [{on_one_line(leaf.same_as)}] below, shown there"
        )
        return f"[{on_one_line(leaf.obs)}] {on_one_line(leaf.path)} — {where}"
    return f"[{on_one_line(leaf.obs)}] {on_one_line(leaf.path)}\n{indented(leaf.text)}"


def message_text(message: ShownMessage) -> str:
    """Return a message as the prompt shows it."""
    control = " (control text, not a person)" if message.control else ""
    head = f"[{on_one_line(message.id)}] text — message, {on_one_line(message.role)}{control}"
    return f"{head}\n{indented(message.text)}"


def step_text(step: ShownStep) -> str:
    """Return an observation as the prompt shows it, every leaf below its heading."""
    flags = f" flags: {', '.join(map(on_one_line, step.flags))}" if step.flags else ""
    name = f"{on_one_line(step.type)} {on_one_line(step.name)}"
    head = f"[{on_one_line(step.step.id)}] step {step.step.n}: {name}{flags}"
    lines = [head, *[f"  {leaf_text(leaf)}" for leaf in step.leaves]]
    return "\n".join([*lines, f"  {step.left_out} values not shown"] if step.left_out else lines)


def indented(text: str) -> str:
    """Set every line of a text behind a margin, so that none of them can pose as a heading."""
    lines = text.splitlines()
    return "    " + (lines[0] if len(lines) == 1 else "\n    ".join(lines))


def on_one_line(text: str) -> str:
    """Keep a name from the trace on its line: every control character is shown as its escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _aside(packet: MatrixPacket) -> list[str]:
    """Return what is made of the trace's own words beside its leaves, for inside the fence."""
    parts: list[str] = []
    profile = packet.subject_profile
    if profile is not None and "tools" in profile.inferred_fields:
        parts += ["", "## tools that the agent is seen to have", *_named(profile.tools)]
    found = [(row.criterion_id, row.code_finding) for row in packet.criteria if row.code_finding]
    if found:
        parts += ["", "## what code established, by criterion"]
        parts += [f"[{on_one_line(criterion)}]\n{indented(text)}" for criterion, text in found]
    if packet.coverage.unread:
        parts += ["", "## not shown, or cut", *_named(packet.coverage.unread)]
    return parts


def _named(names: Sequence[str]) -> list[str]:
    """List names of the trace, which may be as many and as long as it likes."""
    listed = [f"    {on_one_line(name[:NAME_CHARACTERS])}" for name in names[:MOST_NAMES]]
    more = len(names) - len(listed)
    return [*listed, f"    and {more} more"] if more else listed


def _coverage(packet: MatrixPacket) -> str:
    ledger = packet.coverage
    part = f"Outside the part that the criteria look at: {ledger.outside}. " * bool(ledger.outside)
    if not ledger.unread:
        return f"{part}That part is shown whole." if part else "The recording is shown whole."
    return part + (
        f"Not all is shown: {ledger.elided} left out, {ledger.truncated} cut. "
        "No verdict may rest on what is listed as not shown."
    )


def _profile(packet: MatrixPacket) -> str:
    profile = packet.subject_profile
    if profile is None:
        return f"name: {packet.subject}"
    facts = {
        "name": profile.identity,
        "purpose": profile.purpose,
        "tools": "" if "tools" in profile.inferred_fields else ", ".join(profile.tools),
        "skill": profile.skill,
        "scope": profile.scope,
        "harness": profile.harness,
        "version": profile.version,
        "events": ", ".join(profile.events),
        "routes": ", ".join(profile.routes),
        "this account": profile.provenance,
        "inferred": ", ".join(profile.inferred_fields),
    }
    return "\n".join(f"{key}: {value}" for key, value in facts.items() if value)


def row_text(row: PacketRow) -> str:
    """Return a row as the prompt shows it: its words, what it names, its examples."""
    lines = [f"### {row.criterion_id}", row.statement]
    for label, text in (
        ("Pass when", row.pass_condition),
        ("Fail when", row.fail_condition),
        ("Terms to bind", ", ".join(row.terms)),
        ("Look at", ", ".join(row.judge_inputs)),
        ("Code", "has decided its half; see what it established" if row.code_finding else ""),
    ):
        if text:
            lines.append(f"{label}: {text}")
    for number, example in enumerate(row.examples, 1):
        lines += [f"Example {number}, of another recording:", indented(example.text)]
        lines += ["Its critique:", indented(example.critique), f"Its result: {example.result}"]
    return "\n".join(lines)
