"""What a run comes to, in sentences that every renderer shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from helix.model.manifest import LoadFailure, located
from helix.model.scorecard import CriterionRow, JudgeRecord, Quality, Ratio, Scorecard
from helix.model.verdict import Scan
from helix.reports.repeated import flips as flips
from helix.reports.visible import one_line
from helix.reports.words import NOT_RECORDED, Standing, counted, money


def gate_reason(card: Scorecard, baseline: str | None = None) -> str:
    """Return in one sentence why the gate stands as it does; `baseline` names the earlier run."""
    gating = [row for row in card.criteria if row.gating]
    known = sum(row.known or 0 for row in gating)
    new = sum(row.new or 0 for row in gating)
    compared = any(row.known is not None for row in gating)
    against = f"against baseline {one_line(baseline)}" if baseline else "against the baseline"
    found = f"{counted(known, 'known failure')}, {new:,} new"
    if card.quality is not None and card.quality.verdict != card.run_verdict:
        return _by_tests(card.quality)
    if card.run_verdict == "fail":
        failing = len(card.gate.failing) or 1
        told = counted(failing, "gating criterion fails", "gating criteria fail")
        return f"{told} {against} ({found})" if compared else told
    if card.run_verdict == "incomplete":
        waived = " that is not waived" if any(row.waived for row in gating) else ""
        anew = f" anew {against} ({found})" if compared else ""
        gaps = counted(len(card.gate.gaps), "gap")
        return f"nothing gating fails{anew}{waived}, but {gaps} must be closed before it can pass"
    return f"passes {against}: {found}; {_held(gating)}" if compared else _held(gating)


def _by_tests(quality: Quality) -> str:
    """Return why the gate stands worse than the rows of a code change do."""
    rows = {"pass": "its rows hold", "incomplete": "its rows are undecided"}
    why = {"fail": "the change's tests fail"}.get(
        quality.tests.state, f"the change's tests could not be run ({quality.tests.reason})"
    )
    return f"{why}; {rows.get(quality.verdict, 'its rows fail')}"


def tests_line(quality: Quality) -> str:
    """Return what a code change's own tests said (METHOD 38)."""
    found = quality.tests
    if found.state == "not run":
        return f"not run ({found.reason})"
    if found.state == "could not run":
        told = f"could not run ({found.reason})"
    else:
        told = f"{found.state} (exit code {found.exit_code})"
    return f"{told}, output in {found.output}" if found.output else told


def converged(quality: Quality) -> str:
    """Return whether a code change has converged: tests green and rows that hold."""
    return {True: "yes", False: "no", None: "not known"}[quality.converged]


def convergence(quality: Quality) -> str:
    """Return both halves and what they come to, in one sentence."""
    return (
        f"converged: {converged(quality)}; tests: {tests_line(quality)}; quality: {quality.verdict}"
    )


def _held(gating: Sequence[CriterionRow]) -> str:
    """Return how many gating criteria hold, are waived, apply to no trace."""
    holds = sum(1 for row in gating if row.result == "pass")
    waived = sum(1 for row in gating if row.waived and row.result != "pass")
    nowhere = sum(1 for row in gating if row.result == "na")
    told = [counted(holds, "gating criterion holds", "gating criteria hold")]
    told += [f"{waived:,} waived"] if waived else []
    told += [counted(nowhere, "applies nowhere", "apply nowhere")] if nowhere else []
    return ", ".join(told)


def waived(card: Scorecard, criterion: str, trace: str | None = None) -> str | None:
    """Return who vouches until when for a criterion, on all traces or on one; None for nobody."""
    for waiver in card.gate.waivers:
        covers = (waiver["criterion"], waiver.get("trace")) == (criterion, trace)
        if covers and not waiver.get("expired"):
            return f"waived by {waiver['by']} until {waiver['expires']}"
    return None


def waivers(card: Scorecard) -> list[str]:
    """Return every waiver in words: what it covers, by whom, until when, why."""
    return [_waiver(waiver) for waiver in card.gate.waivers]


def _waiver(waiver: Mapping[str, Any]) -> str:
    on = f" on {waiver['trace']}" if waiver.get("trace") else ""
    until = "expired" if waiver.get("expired") else "until"
    because = f" ({waiver['reason']})" if waiver.get("reason") else ""
    return f"{waiver['criterion']}{on} by {waiver['by']}, {until} {waiver['expires']}{because}"


def folded(row: CriterionRow) -> Standing:
    """Return how a criterion stands over its traces: `incomplete` where nobody looked at one.

    It is `uncertain` where somebody looked at any of the traces that leave it undecided.
    """
    if row.result == "uncertain" and row.unseen and row.unseen == row.counts.uncertain:
        return "incomplete"
    return row.result


def fails_on(row: CriterionRow, lines: int) -> str:
    """Return how many traces a criterion fails on, and how many of them the baseline knows."""
    told = f"fails on {counted(lines, 'trace')}"
    if row.known or row.new:
        told += f": {row.known or 0:,} known, {row.new or 0:,} new"
    return told


def unreadable(failures: Iterable[LoadFailure]) -> list[tuple[str, str, list[str]]]:
    """Return each reason, how many files or records it kept from being read, and their places."""
    found: dict[tuple[str, str], list[str]] = {}
    for failure in failures:
        noun, at = "record" if failure.line else "file", located(failure.file, failure.line)
        found.setdefault((noun, failure.reason), []).append(at)
    return [(counted(len(at), noun), reason, at) for (noun, reason), at in found.items()]


def warned(traces: Iterable[tuple[str, Sequence[str]]]) -> list[tuple[str, list[str]]]:
    """Return each kind of warning and the traces that it was given of, the commonest first.

    Warnings that differ in what follows a colon are of one kind; one alone is told in full.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for name, warnings in traces:
        for warning in warnings:
            kind = warning.partition(": ")[0]
            found.setdefault(kind, []).append((warning, name))
    kinds = sorted(found.items(), key=lambda item: -len(item[1]))
    return [
        (held[0][0] if len({text for text, _ in held}) == 1 else kind, [of for _, of in held])
        for kind, held in kinds
    ]


def sentence(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def examined(card: Scorecard) -> str:
    """Return how much was looked at: traces, criteria, and whether it was Helix (METHOD 81)."""
    traces = card.traces
    of = f" of {traces.found:,} found" if traces.found != traces.evaluated else ""
    own = "; the subject is Helix itself, which is no independent judge of it"
    return (
        f"{counted(traces.evaluated, 'trace')} evaluated{of} against "
        f"{counted(len(card.criteria), 'criterion', 'criteria')}{own * card.self_evaluation}"
    )


def page_note(card: Scorecard, worst: int | None) -> str | None:
    """Return that the page of a run lists its worst traces alone; None where it lists all."""
    traces = card.cells.total // max(len(card.criteria), 1)
    if worst is None or traces <= worst:
        return None
    return (
        f"the page counts all {traces:,} traces and lists the {worst:,} worst; "
        "with report.worst=null it lists all"
    )


def judged(card: Scorecard) -> str:
    """Return how many cells were adjudicated, of how many there are."""
    cells = card.cells
    return f"{cells.total - cells.not_adjudicated:,}/{cells.total:,} cells judged"


def counts(card: Scorecard) -> list[tuple[str, int]]:
    """Return the cells per state; `incomplete` are the uncertain ones nobody adjudicated."""
    cells = card.cells
    return [
        ("fail", cells.fail),
        ("incomplete", cells.not_adjudicated),
        ("uncertain", max(cells.uncertain - cells.not_adjudicated, 0)),
        ("pass", cells.pass_),
        ("na", cells.na),
    ]


def judge_line(judge: JudgeRecord) -> str:
    """Return who judged: backend, model as requested, model as returned where it differs.

    A pin without temperature 0 is marked (METHOD 42).
    """
    if judge.backend == "none":
        return "none (only code decides)"
    model = judge.requested.get("model") or f"model {NOT_RECORDED}"
    line = f"{judge.backend}, {model}"
    if judge.returned_model and judge.returned_model != judge.requested.get("model"):
        line += f" (answered by {judge.returned_model})"
    warm = judge.requested.get("temperature", 0) is None
    return f"{line}, without temperature 0" if warm else line


def verifier_line(card: Scorecard) -> str:
    """Return what the verifier did; without one, that nothing was verified."""
    if card.verifier.backend == "none":
        judged = card.judge.backend != "none"
        return "none, so verdicts are not verified" if judged else "none (code needs none)"
    seen = card.verification
    same = " (the judge's own model, asked apart)" if card.verifier.same_model else ""
    failed = f"{seen.failed:,} without a usable review" if seen.failed else "0 failed"
    return (
        f"{judge_line(card.verifier)}{same}: {seen.confirmed:,} confirmed, "
        f"{seen.downgraded:,} downgraded, {failed}"
    )


def validation_line(card: Scorecard) -> str:
    """Return whether the judge was measured against people's labels under this pin."""
    counts: Mapping[str, int] = card.validation.get("criteria", {})
    measured = {status: n for status, n in counts.items() if status != "unvalidated"}
    if not measured:
        status = str(card.validation.get("status", "unvalidated"))
        return "unvalidated for this pin" if status == "unvalidated" else status
    told = ", ".join(f"{status} on {n:,}" for status, n in counts.items())
    return f"{told} of {counted(sum(counts.values()), 'judged criterion', 'judged criteria')}"


def judged_by(card: Scorecard) -> str:
    """Return who judged, and whether that judge was measured where there is one."""
    judge = judge_line(card.judge)
    return judge if card.judge.backend == "none" else f"{judge}; {validation_line(card)}"


def all_measured(card: Scorecard) -> bool:
    """Return whether every judged criterion was measured against labels under this pin."""
    counts: Mapping[str, int] = card.validation.get("criteria", {})
    return bool(counts) and not counts.keys() & {"unvalidated", "stale"}


def labels_note(card: Scorecard) -> str | None:
    """Return why nothing is known of how often the judge is right; None where something is."""
    judged = [row.standing for row in card.criteria if row.standing is not None]
    if any(found.status != "unvalidated" for found in judged):
        return None
    compared = sum(found.coverage is not None for found in judged)
    if not compared:
        return "No labels were compared, so how often this judge is right is not known."
    of = counted(len(judged), "judged criterion", "judged criteria")
    return f"Labels were compared on {compared:,} of {of}, and do not show how often it is right."


def standing(row: CriterionRow) -> str | None:
    """Return how the judge stands on a criterion, and the rate behind its errors; None for code."""
    found = row.standing
    if found is None:
        return None
    told = f"judge {found.status}"
    if found.coverage is not None:
        told += f", decided {found.coverage.k:,} of {found.coverage.n:,} labelled"
    if found.rate is None or found.interval is None:
        return told
    low, high = found.interval
    return f"{told}, passes {found.rate:.1%} corrected ({low:.1%} to {high:.1%})"


def cost(card: Scorecard) -> str:
    """Return what was spent: calls that were made, and their cost where it was recorded."""
    usage = card.usage
    if usage.calls == 0 and usage.cost_micro_usd is None:
        return "no judge calls"
    return f"{counted(usage.calls, 'judge call')}, cost {money(usage.cost_micro_usd)}"


def asked(card: Scorecard) -> str:
    """Return how many replies were kept from earlier and how many were asked for, and the cost."""
    usage = card.usage
    if usage.calls == 0 and usage.cost_micro_usd is None and usage.cache_hits == 0:
        return "no judge calls"
    told = f"{usage.cache_hits:,} cached, {usage.calls:,} new"
    return f"{told}, cost {money(usage.cost_micro_usd)}" if usage.calls else told


def share(ratio: Ratio) -> str:
    """Return k of n in words; of nothing, that there was nothing to measure."""
    return f"{ratio.k:,} of {ratio.n:,}" if ratio.n else "nothing to measure"


def prevalence(row: CriterionRow) -> str:
    """Return how often a criterion fails among the cells that were decided."""
    if not row.prevalence.n:
        return "applies nowhere" if row.result == "na" else "never decided"
    told = f"fails {row.prevalence.k:,} of {row.prevalence.n:,} decided"
    if row.failing_interval is None:
        return told
    low, high = row.failing_interval
    return f"{told} ({low:.0%} to {high:.0%})"


def repeats(row: CriterionRow) -> str | None:
    """Return pass^k and pass@k over runs of one task; None where no task has two."""
    found = row.repeats
    if found is None:
        return None
    left = f", {found.undecided:,} undecided" if found.undecided else ""
    over = f"over {counted(found.tasks, 'task')}{left}"
    if not found.pass_hat:
        return f"pass^k undefined {over}"
    k, always, ever = len(found.pass_hat), found.pass_hat[-1], found.pass_at[-1]
    return f"pass^{k} {always.k / always.n:.1%}, pass@{k} {ever.k / ever.n:.1%} {over}"


def scanned(scan: Scan) -> str:
    """Return what a scan looked at and found, in words."""
    channel = one_line(scan.channel)
    if (scan.first, scan.last) != (None, None):
        channel = f"{channel} of a part of the run"
    if not scan.items:
        return f"nothing stands in {channel}"
    wanted = f" for {one_line(scan.pattern)}" if scan.pattern else ""
    return f"{counted(scan.items, 'value')} in {channel} scanned{wanted}: {scan.matches:,} found"


def tallied(counts: Mapping[str, int]) -> str:
    """Return counts by name, the largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} {name}" for name, n in ordered) or "none"


def parameters(values: dict[str, Any] | Sequence[dict[str, Any] | None] | None) -> str:
    """Return a pin's parameters in one line, sorted; None is not recorded; several, each told.

    Parameters that were left to the provider are passed over, but for the temperature (METHOD 42).
    """
    if values is None:
        return NOT_RECORDED
    if not isinstance(values, dict):
        return " | ".join(map(parameters, values))
    shown = {
        key: value
        for key, value in sorted(values.items())
        if value not in (None, {}, []) or key == "temperature"
    }
    return ", ".join(f"{key} {_told(value)}" for key, value in shown.items()) or "none"


def listed(
    names: Iterable[str], limit: int, more: str | None = "see report", total: int | None = None
) -> str:
    """Return names joined, the rest counted: `a, b and 37 more; see report`.

    `total` is how many there are where `names` are only the first.
    """
    names = list(names)
    total = len(names) if total is None else total
    if total <= limit:
        return ", ".join(names)
    where = f"; {more}" if more else ""
    return f"{', '.join(names[:limit])} and {total - limit:,} more{where}"


def _told(value: Any) -> str:
    return "not set" if value is None else str(value)
