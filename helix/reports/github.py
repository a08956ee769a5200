"""GitHub Actions: github.md, the summary of a step, and annotations on standard output.

A summary over 1 MiB is refused and ten annotations of a kind are shown per step, so both hold the
worst and say how many more there are (PRACTICE “CI”).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator

from helix.reports import repeated, summary
from helix.reports.cells import cited, told
from helix.reports.documents import LONGEST_NAME, fence
from helix.reports.documents import escape_markdown as md
from helix.reports.run import CellView, TraceView, weight
from helix.reports.stream import RunStream
from helix.reports.visible import one_line
from helix.reports.words import SYMBOLS, WORST_FIRST, counted, duration

LARGEST_SUMMARY = 1024 * 1024 - 4096
SHOWN_CRITERIA = 200
SHOWN_CELLS = 20
SHOWN_GAPS = 50
ANNOTATIONS = 10
"""How many annotations of a kind GitHub shows; the last of them tells how many more there are."""
KINDS = ("error", "warning", "notice")
Found = tuple[TraceView, CellView]


def render_github(run: RunStream) -> Iterator[bytes]:
    """Yield the summary as Markdown, the gate in its first line, cut off before 1 MiB."""
    left = LARGEST_SUMMARY
    for line in _summary(run):
        data = f"{line}\n".encode()
        left -= len(data)
        if left < 0:
            yield b"\nThe rest is left out for the summary's size; see report.md.\n"
            return
        yield data


def render_annotations(run: RunStream) -> Iterator[bytes]:
    """Yield workflow commands: gating failures as errors, undecided gating cells as warnings.

    A failure that does not gate is a warning, what else is undecided a notice.
    """
    kept, total = _worst(run, ANNOTATIONS)
    for kind in KINDS:
        more = total[kind] - ANNOTATIONS
        shown = kept[kind] if more <= 0 else kept[kind][: ANNOTATIONS - 1]
        for trace, cell in shown:
            yield _annotation(run, kind, trace, cell)
        if more > 0:
            text = f"and {total[kind] - len(shown):,} more like these; see the report of the run"
            yield _command(kind, {"title": "Helix"}, text)


def _worst(run: RunStream, most: int) -> tuple[dict[str, list[Found]], Counter[str]]:
    """Return the worst cells of each kind of annotation, and how many of each there are."""
    total: Counter[str] = Counter()
    kept: dict[str, list[tuple[tuple[object, ...], Found]]] = {kind: [] for kind in KINDS}
    for trace in run.traces:
        for cell in trace.cells:
            kind = _kind(cell)
            if kind is None:
                continue
            total[kind] += 1
            rank = (WORST_FIRST.index(cell.standing), weight(cell.row), trace.index)
            kept[kind].append((rank, (trace, cell)))
        for kind in KINDS:
            kept[kind] = heapq.nsmallest(most, kept[kind], key=lambda one: one[0])
    return {kind: [found for _, found in ranked] for kind, ranked in kept.items()}, total


def _kind(cell: CellView) -> str | None:
    gating = cell.row.row.gating
    if cell.state == "fail":
        return "error" if gating else "warning"
    if cell.state == "uncertain":
        return "warning" if gating else "notice"
    return None


def _annotation(run: RunStream, kind: str, trace: TraceView, cell: CellView) -> bytes:
    file, line = run.sources.get(trace.id, ("", 0))
    place = {"file": file, "line": str(line or 1)} if file else {}
    title = f"{cell.standing}: {one_line(cell.row.id, LONGEST_NAME)}"
    parts = [f"{one_line(trace.name, LONGEST_NAME)}: {told(cell)}", *map(cited, cell.refs[:3])]
    if cell.action:
        parts.insert(1, f"{cell.cause or 'no cause recorded'}: {cell.action}")
    return _command(kind, place | {"title": title}, "\n".join(parts))


def _command(kind: str, properties: dict[str, str], text: str) -> bytes:
    told = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{kind} {told}::{_data(text)}\n".encode()


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(one_line(text)).replace(":", "%3A").replace(",", "%2C")


def _summary(run: RunStream) -> Iterator[str]:
    card = run.scorecard
    yield f"# Gate: {SYMBOLS[card.run_verdict]} {card.run_verdict}"
    yield ""
    reason = summary.sentence(summary.gate_reason(card, run.meta.baseline))
    yield f"{md(reason)}. {md(summary.examined(card))}; {md(summary.judged(card))}."
    yield ""
    tally = [f"{SYMBOLS[word]} {n:,} {word}" for word, n in summary.counts(card) if n]
    yield " · ".join(tally)
    yield ""
    yield from _listed([summary.convergence(card.quality)] if card.quality else [])
    yield from _listed([f"repeats: {one}" for one in repeated.told(card, SHOWN_CELLS)])
    yield from _listed([f"waived: {one}" for one in summary.waivers(card)])
    yield from _listed([f"gap: {gap}" for gap in card.gate.gaps])
    yield from _listed(
        [f"not read: {at}: {reason}" for _, reason, at in _unread(run)],
    )
    yield from _criteria(run)
    yield from _cells(run)
    if run.meta.rerun:
        yield f"Run just these again: {_code(run.meta.rerun)}"
        yield ""
    took = duration(run.meta.duration_s)
    yield f"{md(summary.judge_line(card.judge))}; {md(summary.cost(card))}; time {took}."


def _unread(run: RunStream) -> Iterator[tuple[str, str, str]]:
    for many, reason, places in summary.unreadable(run.scorecard.load.failures):
        yield many, reason, summary.listed(places, 3)


def _listed(points: list[str]) -> Iterator[str]:
    for point in points[:SHOWN_GAPS]:
        yield f"- {md(one_line(point, 500))}"
    if len(points) > SHOWN_GAPS:
        yield f"- and {len(points) - SHOWN_GAPS:,} more"
    if points:
        yield ""


def _criteria(run: RunStream) -> Iterator[str]:
    order = {state: at for at, state in enumerate(("fail", "uncertain", "pass", "na"))}
    rows = sorted(run.rows, key=lambda row: (order[row.row.result], weight(row)))
    yield "| criterion | severity | gating | result | fail | uncertain | pass | na |"
    yield "|---|---|---|---|--:|--:|--:|--:|"
    for view in rows[:SHOWN_CRITERIA]:
        row, n, folded = view.row, view.row.counts, summary.folded(view.row)
        yield (
            f"| {md(one_line(row.criterion_id, LONGEST_NAME))} | {md(row.severity)} "
            f"| {'yes' if row.gating else 'no'} | {SYMBOLS[folded]} {folded} "
            f"| {n.fail:,} | {n.uncertain:,} | {n.pass_:,} | {n.na:,} |"
        )
    yield ""
    if len(rows) > SHOWN_CRITERIA:
        yield f"and {counted(len(rows) - SHOWN_CRITERIA, 'more criterion', 'more criteria')}"
        yield ""


def _cells(run: RunStream) -> Iterator[str]:
    kept, total = _worst(run, SHOWN_CELLS)
    found = [(kind, pair) for kind in KINDS for pair in kept[kind]][:SHOWN_CELLS]
    for _, (trace, cell) in found:
        place = f" ({md(one_line(trace.file, LONGEST_NAME))})" if trace.file else ""
        name = md(one_line(trace.name, LONGEST_NAME))
        criterion = md(one_line(cell.row.id, LONGEST_NAME))
        state = f"{SYMBOLS[cell.standing]} {cell.standing}"
        yield f"- {state} {criterion} on {name}{place}: {md(told(cell))}"
        if cell.action:
            yield f"  - {md(cell.cause or 'no cause recorded')}: {md(cell.action)}"
        for ref in cell.refs[:1]:
            yield f"  - {md(cited(ref))}"
    if sum(total.values()) > len(found):
        yield f"- and {sum(total.values()) - len(found):,} more; see report.md"
    if found:
        yield ""


def _code(text: str) -> str:
    """Return a command as code whose fence no backtick inside can close."""
    line = one_line(text)
    ticks = fence(line)
    return f"{ticks} {line} {ticks}"
