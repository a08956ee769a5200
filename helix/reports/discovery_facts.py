"""What a discovery comes to, in sentences and facts that every renderer shares (METHOD 85, 86)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from helix.model.discovery import Route, Triage
from helix.reports.discovery import DiscoveryReport, KindView, ReadView
from helix.reports.summary import listed
from helix.reports.words import NOT_RECORDED, Standing, counted, money, recorded
from helix.stats import Share

GOES: Final[dict[Route, str]] = {
    "eval": "criterion",
    "fix": "to mend",
    "infrastructure": "infrastructure",
}
ROUTES: Final[dict[Route, str]] = {
    "eval": "To check: a criterion sees it again",
    "fix": "To mend: an error in prompt, tool or skill",
    "infrastructure": "Infrastructure: no fault of the agent",
}
_SHOWN = 12
Facts = list[tuple[str, str]]


def outcome(report: DiscoveryReport) -> Standing:
    """Return how the traces stand as a whole; without a failure, undecided ones are unknown."""
    triage = report.record.triage
    if triage.fail:
        return "fail"
    return "pass" if triage.examined and not _open(triage) else "incomplete"


def _open(triage: Triage) -> bool:
    """Whether a trace is undecided, one that was cut off or could not be read included."""
    return bool(triage.uncertain or triage.cut_off or triage.unreadable)


def headline(report: DiscoveryReport) -> str:
    """Return in a few words how many traces fail; while some are undecided, at least so many."""
    triage = report.record.triage
    if not triage.examined:
        return "Nothing was examined"
    if not triage.fail:
        return "No failure was found" if _open(triage) else f"All {triage.examined:,} pass"
    least = "At least " if triage.uncertain else ""
    verb = "fails" if triage.fail == 1 else "fail"
    return f"{least}{triage.fail:,} of {counted(triage.examined, 'trace')} {verb}"


def findings(report: DiscoveryReport) -> str:
    """Return in one sentence what was found and what is proposed."""
    rows = report.record.criteria
    observed = sum(row.grounding == "observed" for row in rows)
    kinds = counted(len(report.kinds), "kind of failure", "kinds of failure")
    return f"{kinds}, {counted(len(rows), 'criterion', 'criteria')} proposed, {observed} observed"


def caveat(report: DiscoveryReport) -> str:
    """Return what the reader must know of what nobody has read; empty where all were read."""
    record = report.record
    unread = record.triage.examined - record.triage.read
    if record.judge is None:
        return "Code alone looked: what it did not detect is no pass"
    return f"{counted(unread, 'trace')} had no reader: no detection is no pass" if unread else ""


def prevalence(kind: KindView) -> str:
    """Return k of n examined traces with the interval; undefined where nothing was examined."""
    category = kind.category
    if kind.interval is None:
        return f"{category.k} of {category.n}, no interval"
    return f"{category.k} of {category.n} ({_percent(kind.interval)})"


def failing(report: DiscoveryReport) -> str:
    """Return how often traces fail, with the interval."""
    triage = report.record.triage
    share = Share(triage.fail, triage.examined).interval()
    told = f"{'at least ' if triage.uncertain else ''}{triage.fail:,} of {triage.examined:,}"
    return told if share is None else f"{told} ({_percent(share)})"


def seen_by(kind: KindView) -> str:
    """Return who saw a kind: detectors of code, a determiner, or both."""
    detectors = kind.category.detectors
    by = [f"code ({', '.join(detectors)})"] if detectors else []
    by += ["a determiner"] if len(kind.category.kinds) > len(detectors) else []
    return " and ".join(by)


def why(kind: KindView) -> str:
    """Return why the criterion of a kind is observed or inferred (METHOD 55)."""
    row = kind.row
    if row is None and kind.category.fix_or_eval == "eval":
        return "no row of its own: the check of another kind sees the same"
    if row is None:
        return "no criterion: it goes to diagnostics, in failures.jsonl"
    if row.grounding == "observed":
        held = "; the same check is found without its fixtures" if row.held_out else ""
        return (
            f"observed: its check fires on {counted(len(row.fires), 'trace')}, passes on "
            f"{counted(len(row.passes), 'healthy trace')}, and fires on no healthy one{held}"
        )
    if row.klass == "code":
        return "inferred: its check does not tell broken from healthy traces, so it does not gate"
    return "inferred: no check of code separates its traces, a judge has to; it does not gate"


def proof(report: DiscoveryReport) -> Facts:
    """Return how much was read, whole or in part, by whom, and what was not (METHOD 85)."""
    record, triage = report.record, report.record.triage
    answered = [r.determination for r in report.reads if r.determination.determined_by]
    whole = sum(one.whole for one in answered)
    part = len(answered) - whole
    waits = f"; {counted(triage.pending, 'trace')} waiting for an answer" if triage.pending else ""
    read = f"{whole:,} of {triage.examined:,}{waits}"
    nobody = "nobody yet" if record.judge else "nobody: code alone looked"
    cut = [one.id for one in report.reads if not _whole(one)]
    cut_off = f": {listed(cut, _SHOWN, 'see determinations.jsonl')}" if cut else ""
    found = [s.detection for read in report.reads for s in read.seen]
    by_code = sum(one.detector is not None for one in found)
    return [
        ("code looked at", f"{counted(triage.examined, 'whole trace')}, every one"),
        ("read whole", read if record.judge else "none: nobody was asked"),
        ("read in part", f"{part:,}: input, tool sequence and end alone" if part else "none"),
        ("read by", "; ".join(_readers(report)) or nobody),
        ("not read by anybody", _left(report)),
        ("detectors", _detectors(report)),
        ("detections", f"{by_code:,} by code, {len(found) - by_code:,} by a determiner"),
        ("cut off", f"{len(cut):,}{cut_off}"),
        ("not sampled", f"{triage.found - triage.sampled:,} of {triage.found:,} found"),
        ("could not be read", f"{triage.unreadable:,}"),
    ]


def unread(report: DiscoveryReport) -> list[str]:
    """Return the whole traces that nobody answered for."""
    return [r.id for r in report.reads if _whole(r) and r.determination.determined_by is None]


def _left(report: DiscoveryReport) -> str:
    left, whole = unread(report), sum(map(_whole, report.reads))
    if not left:
        return "none"
    if len(left) == whole:
        return f"all {whole:,}: what code did not detect there is not known"
    return f"{len(left):,} of {whole:,}: {listed(left, _SHOWN, 'see determinations.jsonl')}"


def _whole(read: ReadView) -> bool:
    return read.determination.cause != "truncated"


def _readers(report: DiscoveryReport) -> Iterator[str]:
    """Yield who answered for how many traces, under which model and temperature."""
    asked = [r.determination.determined_by for r in report.reads]
    found = Counter(
        (by.reviewer or by.identity, by.model, by.returned_model, by.temperature)
        for by in asked
        if by is not None
    )
    for (who, model, returned, temperature), n in sorted(found.items(), key=repr):
        answered = f", answered by {returned}" if returned not in (None, model) else ""
        warm = "without temperature" if temperature is None else f"temperature {temperature:g}"
        yield f"{recorded(who)} ({model}{answered}, {warm}): {counted(n, 'trace')}"


def _detectors(report: DiscoveryReport) -> str:
    """Return which detectors suggested a check of this batch, and what they detected."""
    tried = report.record.detectors
    found = Counter(s.detection.detector for r in report.reads for s in r.seen)
    if tried is None:
        return NOT_RECORDED
    if not tried:
        return "none suggested a check"
    names = sorted(tried, key=lambda name: (-found[name], name))
    told = ", ".join(f"{name} {found[name]:,}" for name in names)
    return f"{len(tried)} suggested {counted(sum(tried.values()), 'check')}; they detected: {told}"


def saturation(report: DiscoveryReport) -> str:
    """Return whether the last traces still brought new kinds (METHOD 54)."""
    record = report.record
    if record.saturated_at is None:
        window = counted(record.window, "trace")
        return f"not saturated: the last {window} brought new kinds, or there were too few to tell"
    how = "asking stopped there" if record.stopped else "all were examined all the same"
    quiet = f"{counted(record.window, 'trace')} without a new kind"
    known = report.curve.known if report.curve else ()
    later = known[-1] - known[record.saturated_at - 1] if len(known) > record.saturated_at else 0
    if later:
        quiet += f", but {counted(later, 'new kind')} came after them"
        how = f"asking stopped after {counted(len(known), 'trace')}" if record.stopped else how
    return f"saturated after {counted(record.saturated_at, 'trace')}, {quiet}; {how}"


def curve_told(report: DiscoveryReport) -> str:
    """Return the curve of new kinds in words."""
    known = report.curve.known if report.curve else ()
    if not known:
        return "nothing was examined"
    last = known.index(known[-1]) + 1 if known[-1] else 0
    traces = counted(len(known), "trace")
    if not last:
        return f"no kind in {traces}"
    kinds = counted(known[-1], "kind")
    return f"{kinds} in {traces}, before like ones are merged; the last new one at trace {last:,}"


def memory(report: DiscoveryReport) -> str:
    """Return which memory entries were known, and who was given them (METHOD 80)."""
    names = report.record.preferences
    if not names:
        return "no entry was known"
    given = "given to nobody, as code alone looked"
    if report.record.judge is not None:
        given = "given to the determiner alone, inside a fence"
    return f"{', '.join(names)}: {given}"


def cost(report: DiscoveryReport) -> str:
    """Return what asking took; a discovery by code asks nobody."""
    usage = report.record.usage
    if report.record.judge is None:
        return "no calls"
    if usage is None:
        return f"calls and cost {NOT_RECORDED}"
    calls = counted(int(usage.get("calls", 0)), "call")
    cached = counted(int(usage.get("cacheHits", 0)), "cache hit")
    return f"{calls}, {cached}, cost {money(usage.get('costMicroUsd'))}"


def itself(report: DiscoveryReport) -> Facts:
    """Return how the discovery did by its own measures."""
    rows, reads = report.record.criteria, report.reads
    seen = [s.detection for read in reads for s in read.seen]
    assumed = sum(len(one.assumptions) for one in seen)
    assumed += sum(len(read.determination.assumptions) for read in reads)
    warnings = "; ".join(f"{counted(len(n), 'trace')}: {text}" for text, n in report.warned)
    return [
        ("evidence that resolves", _of(report.grounded)),
        ("detections with evidence", _of(Share(sum(bool(d.refs) for d in seen), len(seen)))),
        ("said but not shown", counted(assumed, "assumption")),
        ("traces that were determined", f"{len(reads):,} of {report.record.triage.sampled:,}"),
        ("criteria that are observed", _of(_count(row.grounding == "observed" for row in rows))),
        ("criteria found again without their fixtures", _of(_count(row.held_out for row in rows))),
        ("asked again or taken back", warnings or "none"),
        ("undecided by cause", _causes(report)),
    ]


def _causes(report: DiscoveryReport) -> str:
    ones = [r.determination for r in report.reads if r.determination.verdict == "uncertain"]
    found = Counter(one.cause or "no cause recorded" for one in ones)
    return ", ".join(f"{n:,} {name}" for name, n in found.most_common()) or "none"


def _count(held: Iterable[bool]) -> Share:
    found = list(held)
    return Share(sum(found), len(found))


def _of(share: Share) -> str:
    return f"{int(share.k):,} of {int(share.n):,}" if share.n else "nothing to measure"


def _percent(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{low:.0%} to {high:.0%}"
