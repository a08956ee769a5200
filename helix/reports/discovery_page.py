"""The discovery report as one offline page, in the frame of the run report."""

from __future__ import annotations

from collections.abc import Sequence

from helix.model.criterion import Criterion
from helix.reports import discovery_facts, words
from helix.reports.discovery import DiscoveryReport
from helix.reports.html import environment
from helix.reports.subject import subject_facts
from helix.reports.summary import unreadable
from helix.suite.dumping import row_page


def render_discovery(report: DiscoveryReport) -> bytes:
    """Return the page as UTF-8; text of traces is escaped, and acting characters spelled out."""
    page = environment().get_template("discovery.html.j2")
    meta = report.meta
    text = page.render(
        report=report,
        record=report.record,
        facts=discovery_facts,
        who=subject_facts(report.subject) if report.subject else [],
        unread=unreadable(report.unread),
        curve=None if report.curve is None else drawn(report.curve.known),
        yaml=_yaml,
        execution=[
            ("traces in", report.folder or "."),
            ("run directory", meta.run_dir),
            ("started", meta.started_at),
            ("time", words.duration(meta.duration_s)),
            ("Helix", meta.helix_version),
        ],
        styles=("report.css", "discovery.css"),
    )
    return text.encode("utf-8")


def drawn(known: Sequence[int]) -> tuple[int, int, str] | None:
    """Return width, height and path of the curve of known kinds; None where it has no point."""
    if not known:
        return None
    top = max(known[-1], 1)
    path, last = [f"M0 {top}"], 0
    for at, kinds in enumerate(known):
        if kinds != last:
            path.append(f"H{at}V{top - kinds}")
            last = kinds
    return len(known), top, "".join([*path, f"H{len(known)}"])


def _yaml(criterion: Criterion | None) -> str | None:
    return None if criterion is None else row_page(criterion)
