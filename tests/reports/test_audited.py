"""The report of an audit shows hostile text as text, on any terminal and in Markdown."""

from __future__ import annotations

import pytest

from helix.model.audited import (
    Audited,
    Coverage,
    CoverageGap,
    Execution,
    Finding,
    Place,
    Tracked,
)
from helix.reports.audited import audit_markdown, audit_text, ending

HOSTILE = "\x1b[2J\u202e``` | <b>@all</b> ::error::\n# no"


def audited() -> Audited:
    places = tuple(
        Place(artifact="subject.json", path=f"{HOSTILE}{n}", kind="value", count=n + 1, line=None,
              a=HOSTILE, b=None, dimensions=(HOSTILE,), consequence=bool(n))
        for n in range(7)
    )  # fmt: skip
    finding = Finding(
        id="clock.command", severity="CRIT", scope="COMMAND", defect_class="missing-determinism",
        control="C-PIN", root_cause=None, mechanism="clock", what="a clock", cure="leave it out",
        shown_by=(HOSTILE,), dimensions=(HOSTILE,), places=places,
    )  # fmt: skip
    return Audited(
        verdict="different",
        command=(),
        executions=(Execution(name=HOSTILE, run="r", identity=None, failed=HOSTILE),),
        score=None,
        pairs=(),
        findings=(finding,),
        coverage=Coverage(
            components=("c",),
            gaps=(CoverageGap(component=HOSTILE, dimension="data-correctness", reason=HOSTILE),),
        ),
        defects=(
            Tracked(id=HOSTILE, what=HOSTILE, condition="c", status="holds", reason=HOSTILE),
            Tracked(id="D", what="x", condition="c", status="couldNotBeChecked", reason="y"),
        ),
        notes=(HOSTILE,),
    )


@pytest.mark.parametrize("ascii", [False, True])
def test_nothing_in_it_acts_on_a_terminal_or_runs_over_its_width(ascii: bool) -> None:
    text = audit_text(audited(), "normal", 80, color=False, ascii=ascii)
    assert {c for c in text if not c.isprintable()} == {"\n"}
    assert not any(line.lstrip().startswith("::") for line in text.splitlines())
    assert max(map(len, text.splitlines())) <= 80
    assert text.isascii() or not ascii
    assert "2 places more in audit.json" in text
    verbose = audit_text(audited(), "verbose", 80, color=False, ascii=ascii)
    assert len(verbose) > len(text) and "more in audit.json" not in verbose
    quiet = audit_text(audited(), "quiet", 80, color=False, ascii=ascii)
    assert text.endswith(quiet) and len(quiet.splitlines()) == 2


def test_nothing_in_it_is_markup_in_markdown() -> None:
    page = audit_markdown(audited()).decode("utf-8")
    assert {c for c in page if not c.isprintable()} == {"\n"}
    outside = [line for line in page.splitlines() if not line.startswith("  - A:")]
    assert not any("<b>" in line or "@all" in line for line in outside)
    assert [line for line in page.splitlines() if line.startswith("# ")] == ["# Audit: different"]
    assert all("````" in line for line in page.splitlines() if line.startswith("  - A:"))


def test_the_last_sentence_counts_what_was_found() -> None:
    assert ending(audited()) == (
        "1 finding; 1 of 2 tracked defects mended; 1 gap in coverage; 1 execution."
    )
