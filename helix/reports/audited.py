"""What an audit found, as text for a terminal and as Markdown: findings first, then the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from helix.model.audited import Audited, Finding, Place, Status
from helix.model.config import Verbosity
from helix.reports.determinism import score_lines, variance
from helix.reports.documents import escape_markdown, fence
from helix.reports.textpage import TextPage
from helix.reports.visible import one_line
from helix.reports.words import Standing, counted

PLACES: Final = 5
VALUE: Final = 200
_STANDING: Final[dict[Status, tuple[Standing, str]]] = {
    "holds": ("pass", "holds"),
    "doesNotHold": ("fail", "does not hold"),
    "couldNotBeChecked": ("uncertain", "could not be checked"),
}
_VERDICT: Final[dict[str, tuple[Standing, str]]] = {
    "equal": ("pass", "equal"),
    "different": ("fail", "different"),
    "notMeasured": ("incomplete", "not measured"),
}


def audit_text(found: Audited, verbosity: Verbosity, width: int, color: bool, ascii: bool) -> str:
    """Return the report as terminal text; the last line says how the audit ends.

    Quiet is that line alone; verbose shows every place of a finding.
    """
    page = TextPage(width, color, ascii)
    if verbosity != "quiet":
        _told(page, found, PLACES if verbosity == "normal" else None)
    page.line(page.state(*_VERDICT[found.verdict]), f"  {ending(found)}")
    return page.text


def _told(page: TextPage, found: Audited, most: int | None) -> None:
    for finding in found.findings:
        _finding(page, finding, _cures(found, finding), most)
    _defects(page, found)
    _coverage(page, found)
    if found.score is not None:
        score_lines(page, found.score)
        page.gap()
    page.line(("Executions", "bold"))
    for number, one in enumerate(found.executions, 1):
        page.line(f"{number}  {one_line(one.name)}: {_how(one.varied)}", indent=2)
        if one.failed is not None:
            page.line(page.state("incomplete", "no run"), f"  {one_line(one.failed)}", indent=5)
    for note in found.notes:
        page.line(f"Note: {one_line(note)}.")
    page.gap()


def ending(found: Audited) -> str:
    """Return the result in one sentence."""
    parts = [counted(len(found.findings), "finding")]
    if found.score is not None:
        parts.append(variance(found.score))
    if found.defects:
        held = sum(one.status == "holds" for one in found.defects)
        parts.append(f"{held} of {counted(len(found.defects), 'tracked defect')} mended")
    if found.coverage.gaps:
        parts.append(counted(len(found.coverage.gaps), "gap in coverage", "gaps in coverage"))
    return f"{'; '.join(parts)}; {counted(len(found.executions), 'execution')}."


def audit_markdown(found: Audited) -> bytes:
    """Return the report as Markdown."""
    return ("\n".join(_markdown(found)) + "\n").encode("utf-8")


def _cures(found: Audited, one: Finding) -> str | None:
    """Return the finding whose twin this is, where it shows in the very same places."""
    return next((x.id for x in found.findings if x.twin == one.id and x.places == one.places), None)


def _finding(page: TextPage, one: Finding, cures: str | None, most: int | None) -> None:
    standing: Standing = "fail" if one.severity in ("CRIT", "HIGH") else "uncertain"
    page.line(page.state(standing, one.severity), "  ", (one.id, "bold"), f"  {_roots(one)}")
    page.line(f"{one.what}.", indent=4)
    places = one.places if cures is None else ()
    if cures is not None:
        page.line(("at  ", "dim"), f"the places of {cures}, which this cures", indent=4)
    for place in places[:most]:
        page.line(("at  ", "dim"), _where(place), indent=4)
        if place.kind != "order":
            for letter, text in (("A", place.a), ("B", place.b)):
                told = "nothing there" if text is None else one_line(text, VALUE)
                page.line((f"{letter}  ", "bold"), told, indent=8)
    left = len(places) - len(places[:most])
    if left:
        page.line(f"and {counted(left, 'place')} more in audit.json", indent=4)
    page.line(("dimensions  ", "dim"), _named(one.dimensions), indent=4)
    page.line(("shown by  ", "dim"), ", ".join(map(one_line, one.shown_by)), indent=4)
    page.line(("cure  ", "dim"), _cure(one), indent=4)
    page.gap()


def _defects(page: TextPage, found: Audited) -> None:
    if not found.defects:
        return
    page.line(("Tracked defects", "bold"), ", on the code that was executed")
    for one in found.defects:
        state = page.state(*_STANDING[one.status])
        page.line(state, f"  {one_line(one.id)}: {one_line(one.what)}", indent=2)
        page.line(f"{one_line(one.condition)}: {one_line(one.reason)}", indent=6)
    page.gap()


def _coverage(page: TextPage, found: Audited) -> None:
    coverage = found.coverage
    if coverage.unknown is not None:
        page.line(("Coverage", "bold"), f" is not known: {one_line(coverage.unknown)}")
    else:
        n = len(coverage.components)
        gaps = counted(len(coverage.gaps), "gap")
        page.line(("Coverage", "bold"), f" of {counted(n, 'component')} in 3 dimensions: {gaps}")
    for gap in coverage.gaps:
        name = f"{one_line(gap.component)}, {gap.dimension}"
        page.line(f"{name}: {one_line(gap.reason)}", indent=2)
    page.gap()


def _roots(one: Finding) -> str:
    cause = one.root_cause or "no named root"
    return f"{one.scope}  {cause}  {one.control}  {one.defect_class}"


def _where(place: Place) -> str:
    path = one_line(place.path, VALUE) or (
        "the order of lines" if place.kind == "order" else "a line"
    )
    if place.path and place.kind == "order":
        path = f"{path}, its order"
    line = f", first on line {place.line:,}" if place.line is not None else ""
    many = f", {place.count:,} places" if place.count > 1 else ""
    follows = ", which follows" if place.consequence else ""
    return f"{place.artifact}: {path}{many}{line}{follows}"


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(one_line, names)) or "none that is measured differs"


def _cure(one: Finding) -> str:
    return one.cure if one.twin is None else f"by its twin {one.twin}: {one.cure}"


def _how(varied: Sequence[str]) -> str:
    return f"other {', '.join(varied)}" if varied else "nothing varied"


def _markdown(found: Audited) -> Iterator[str]:
    md = escape_markdown
    yield f"# Audit: {_VERDICT[found.verdict][1]}"
    yield ""
    yield md(ending(found))
    for one in found.findings:
        yield ""
        yield f"## {one.severity} {one.id}"
        yield ""
        yield f"{_roots(one)}: {one.what}. Cure: {_cure(one)}."
        yield f"Dimensions: {md(_named(one.dimensions))}. Shown by: {md(', '.join(one.shown_by))}."
        yield ""
        for place in one.places:
            yield f"- {md(_where(place))}"
            for letter, text in (("A", place.a), ("B", place.b)):
                if place.kind != "order" and text is not None:
                    mark = fence(text)
                    yield f"  - {letter}: {mark} {one_line(text, VALUE)} {mark}"
    if found.defects:
        yield ""
        yield "| tracked defect | status | condition | why |"
        yield "|---|---|---|---|"
        for defect in found.defects:
            cells = (defect.id, _STANDING[defect.status][1], defect.condition, defect.reason)
            yield f"| {' | '.join(md(cell) for cell in cells)} |"
    yield from _markdown_rest(found)


def _markdown_rest(found: Audited) -> Iterator[str]:
    md = escape_markdown
    yield ""
    yield "| component | dimension | not covered |"
    yield "|---|---|---|"
    if found.coverage.unknown is not None:
        yield f"| not known | | {md(found.coverage.unknown)} |"
    for gap in found.coverage.gaps:
        yield f"| {md(gap.component)} | {gap.dimension} | {md(gap.reason)} |"
    if found.score is not None:
        yield ""
        yield "| determinism dimension | status | artifact |"
        yield "|---|---|---|"
        for one in found.score.dimensions:
            status = "not measured" if one.status == "notMeasured" else one.status
            yield f"| {md(one.name)} | {status} | {md(one.artifact)} |"
    yield ""
    for number, execution in enumerate(found.executions, 1):
        failed = f"; no run: {execution.failed}" if execution.failed else ""
        yield f"{number}. {md(execution.name)}: {md(_how(execution.varied) + failed)}"
    for note in found.notes:
        yield ""
        yield f"Note: {md(note)}."
