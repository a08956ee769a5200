"""The page of a run in three sizes: how one is chosen, and that all of them say the same."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import helix
from helix.model.trace import Trace
from helix.registry.leaf import Leaf
from helix.reports.joined import joined
from helix.reports.outline import Outline, outline
from helix.reports.page import PageFacts
from helix.reports.run import MAX_STEPS, TraceView, compose
from helix.reports.scale import (
    INLINE_TRACES,
    LARGEST_PAGE,
    layout_of,
    page_name,
    render_pages,
)
from helix.reports.shelf import shelf
from helix.reports.stream import Mode, RunStream
from helix.reports.words import WORST_FIRST
from tests.labels import page as made
from tests.reports import runs, sample
from tests.reports.browsing import written
from tests.reports.pages import Element, Page

COUNT = 14
LETTERS = dict(zip("fiupn", WORST_FIRST, strict=True))


def large(mode: Mode, count: int = COUNT) -> RunStream:
    """Return the sample as a stream that can read its traces again."""

    def read(ids: frozenset[str]) -> Iterator[Trace]:
        return (t for t in map(sample.trace, range(count)) if t.id in ids)

    return runs.replaced(runs.run(count), originals=read, mode=mode)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the sample for too large to stand in one page as it is."""
    monkeypatch.setattr("helix.reports.scale.INLINE_TRACES", COUNT - 1)


@pytest.mark.parametrize(
    ("mode", "traces", "steps", "size", "layout"),
    [
        ("auto", INLINE_TRACES, MAX_STEPS, LARGEST_PAGE, "inline"),
        ("auto", INLINE_TRACES + 1, 0, 0, "packed"),
        ("auto", 1, MAX_STEPS + 1, 0, "packed"),
        ("auto", 1, MAX_STEPS + 1, LARGEST_PAGE, "packed"),
        ("auto", 1, MAX_STEPS + 1, LARGEST_PAGE + 1, "pages"),
        ("single", 1, MAX_STEPS, 0, "inline"),
        ("single", 100_000, MAX_STEPS + 1, LARGEST_PAGE + 1, "packed"),
        ("directory", 1, 1, 1, "pages"),
    ],
)
def test_the_size_of_what_is_shown_chooses_the_layout(
    mode: str, traces: int, steps: int, size: int, layout: str
) -> None:
    assert layout_of(mode, traces, steps, size) == layout


def unpacked(text: str) -> str:
    return gzip.decompress(base64.b64decode(text)).decode("utf-8")


def rows_of(page: Page) -> list[Page]:
    """Return the rows of a list that a script draws."""
    return [Page(row) for row in json.loads(unpacked(page.by_id()["kept"].text))]


def marks(page: Page) -> dict[str, str]:
    """Return the letters of each trace's cells."""
    found = [element.attributes for element in page.elements if "traj" in element.classes]
    return {element["data-trace"]: element["data-marks"] for element in found}


def cells(page: Page) -> runs.Cells:
    """Return the state of each verdict that stands in a page or in a part of one."""
    found: runs.Cells = {}
    for cell in page.all("details", "cell"):
        trajectory = cell.inside("traj")
        assert trajectory is not None
        key = (trajectory.attributes["data-trace"], 0, cell.attributes["data-criterion"])
        found[key] = cell.attributes["data-state"]
    return found


def packed_cells(page: Page) -> runs.Cells:
    found: runs.Cells = {}
    for row in rows_of(page):
        (head,) = [element.attributes for element in row.elements if "traj" in element.classes]
        part = Page(unpacked(page.by_id()[f"part-{head['id']}"].text))
        for cell in part.all("details", "cell"):
            key = (head["data-trace"], 0, cell.attributes["data-criterion"])
            found[key] = cell.attributes["data-state"]
    return found


def read(file: Path) -> Page:
    return Page(file.read_text(encoding="utf-8"))


@pytest.mark.usefixtures("many")
def test_every_cell_has_the_same_state_in_all_three_layouts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = large("single")
    truth = runs.truth(of.lines)
    packed = read(written(of, tmp_path / "packed"))
    assert packed_cells(packed) == truth
    paged = written(large("directory"), tmp_path / "pages")
    beside = [read(file) for file in sorted((tmp_path / "pages" / "report").glob("*.html"))]
    assert {key: state for page in beside for key, state in cells(page).items()} == truth
    monkeypatch.setattr("helix.reports.scale.INLINE_TRACES", COUNT)
    inline = read(written(of, tmp_path / "inline"))
    assert cells(inline) == truth
    # The letters by which the list is sifted say the same, and so does the matrix.
    letters = marks(inline)
    assert letters == {k: v for row in rows_of(packed) for k, v in marks(row).items()}
    assert letters == {k: v for row in rows_of(read(paged)) for k, v in marks(row).items()}
    rows = [row.id for row in of.rows]
    states = {
        (name, 0, row): "uncertain" if LETTERS[letter] == "incomplete" else LETTERS[letter]
        for name, found in letters.items()
        for row, letter in zip(rows, found, strict=True)
        if letter != "."
    }
    assert states == truth


@pytest.mark.parametrize("mode", ["auto", "single", "directory"])
@pytest.mark.usefixtures("many")
def test_the_same_run_gives_the_same_files(mode: Mode, tmp_path: Path) -> None:
    first, again = (written(large(mode), tmp_path / name) for name in ("a", "b"))
    files = [
        {
            str(file.relative_to(report.parent)): file.read_bytes()
            for file in sorted(report.parent.rglob("*.*"))
        }
        for report in (first, again)
    ]
    assert files[0] == files[1] and len(files[0]) == (COUNT + 4 if mode == "directory" else 1)


def test_inline_the_page_holds_what_is_composed_of_the_whole_run(tmp_path: Path) -> None:
    file = written(large("auto"), tmp_path)
    assert not (tmp_path / "report").exists()
    whole = sample.report(COUNT)
    assert cells(read(file)) == runs.truth(whole.lines)
    assert [e.attributes["id"] for e in read(file).all("li", "step")] == [
        step.anchor for trace in whole.worst_first for step in trace.steps
    ]


def outlined(of: RunStream) -> Outline:
    return outline(of, PageFacts.begun(of))


def test_every_trace_is_joined_to_its_line_in_whatever_order_traces_come() -> None:
    lines = [sample.line(n) for n in range(6)]
    again = msgspec.structs.replace(lines[2], replicate=1)
    lines = [*lines[:3], again, *lines[3:]]
    of = runs.run(6, lines)
    wanted = compose(sample.scorecard(tuple(lines)), lines, map(sample.trace, range(6)),
                     suite=sample.SUITE, manifest=sample.manifest(6)).traces  # fmt: skip
    for order in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [3, 0, 5, 1, 4, 2]):
        originals = dataclasses.replace(of, originals=lambda ids, o=order: map(sample.trace, o))
        found = sorted(joined(originals, of.traces), key=lambda view: view.index)
        assert [(v.name, v.steps, v.targets) for v in found] == [
            (v.name, v.steps, v.targets) for v in wanted
        ]


def test_a_trace_that_is_gone_is_listed_without_steps_and_nothing_else_is_lost() -> None:
    def some(ids: frozenset[str]) -> Iterator[Trace]:
        return (sample.trace(n) for n in (1, 4))

    of = runs.replaced(runs.run(6), originals=some)
    found: dict[int, TraceView] = {view.index: view for view in joined(of, of.traces)}
    assert sorted(found) == list(range(6))
    assert {n for n, view in found.items() if view.steps} == {1, 4}
    assert found[0].hidden == "its steps were not read"
    assert len(list(joined(runs.run(6), of.traces))) == 6


def test_the_outline_stands_as_the_run_does_and_holds_no_word_of_it() -> None:
    bare, whole = outlined(large("auto")), sample.report(COUNT)
    assert [t.index for t in bare.listed] == [t.index for t in whole.worst_first]
    assert [t.tally for t in bare.listed] == [t.tally for t in whole.worst_first]
    assert bare.warned == [(text, len(names)) for text, names in whole.warned]
    assert not bare.cut and bare.traces == COUNT
    assert all(cell.entry is None and not cell.refs for t in bare.listed for cell in t.cells)


@pytest.mark.parametrize("mode", ["auto", "directory"])
def test_a_page_lists_the_worst_traces_counts_all_and_says_so(
    mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helix.reports.scale.INLINE_TRACES", 2)
    worst = sample.report(COUNT).worst_first[:3]
    cut = read(written(runs.replaced(large(mode), worst=3), tmp_path / "cut"))
    assert [name for row in rows_of(cut) for name in marks(row)] == [view.name for view in worst]
    parts = [name for name in cut.by_id() if name.startswith("part-")]
    pages = list((tmp_path / "cut").glob("report/*.html"))
    assert (len(parts), len(pages)) == ((3, 0) if mode == "auto" else (0, 3))
    whole = read(written(large(mode), tmp_path / "whole"))
    for page, told in ((cut, True), (whole, False)):
        text = " ".join(element.text for element in page.all("p"))
        assert ("hold the 3 worst traces" in text) is told and f"of {COUNT} traces" in text
    for name in ("summary", "routes", "itself"):
        counted, wanted = (
            [e.text for e in page.elements if _in(e, name) and e.tag in ("b", "small", "td")]
            for page in (cut, whole)
        )
        assert counted == wanted and counted
    # No link leads to what the page does not hold.
    linked = {re.search(r"#t(\d+)", a.attributes.get("href", "")) for a in cut.all("a")}
    assert {int(found[1]) for found in linked if found} == {view.index for view in worst}


def _in(element: Element, section: str) -> bool:
    return any(above.attributes.get("id") == section for above in element.above)


def test_no_id_is_a_file_name_and_each_trace_and_repeat_has_its_own(tmp_path: Path) -> None:
    names = ("../../up", "CON", "a/b", "a\x00b", "\ud83d", "x" * 500, "", ".", "report.css")
    lines = [
        msgspec.structs.replace(sample.line(3), trajectory_id=name, replicate=n)
        for name in names
        for n in (0, 1)
    ]
    of = runs.replaced(runs.run(1, lines), mode="directory")
    leaves = [part.name for part in render_pages(of) if isinstance(part, Leaf)]
    pages = [name for name in leaves if name.endswith(".html")]
    assert len(set(pages)) == len(lines)
    assert all(re.fullmatch(r"[0-9a-f]{24}\.html", name) for name in pages)
    assert set(leaves) - set(pages) == {"report.css", "report.js"}
    assert {page_name(view) for view in of.traces} == set(pages)


def test_pages_can_be_walked_and_found_without_a_script(tmp_path: Path) -> None:
    report = written(large("directory"), tmp_path)
    folder = tmp_path / "report"
    text = report.read_text(encoding="utf-8")
    (plain,) = re.findall(r"<noscript>(.*?)</noscript>", text, re.DOTALL)
    listed = [a.attributes["href"] for a in Page(plain).all("a")]
    assert len(listed) == COUNT and all((tmp_path / link).is_file() for link in listed)
    at, seen = folder / Path(listed[0]).name, []
    while at is not None:
        seen.append(at.name)
        page = read(at)
        assert not page.all("script") or "src" not in page.all("script")[0].attributes
        assert page.all("details", "traj")[0].attributes["open"] == ""
        links = {a.attributes.get("rel"): a.attributes["href"] for a in page.all("a")}
        back = next(a for a in page.all("a") if a.text == "All traces of this run")
        assert (folder / back.attributes["href"]).resolve() == report.resolve()
        at = folder / links["next"] if "next" in links else None
    assert seen == [Path(link).name for link in listed]
    # Links of the matrix lead to the cells of these pages.
    there = {f"report/{name}": read(folder / name).by_id() for name in seen}
    for link in read(report).all("a", "c"):
        file, _, anchor = link.attributes["href"].partition("#")
        assert anchor in there[file]


@pytest.mark.usefixtures("many")
def test_a_page_that_is_packed_says_without_a_script_how_it_is_read(tmp_path: Path) -> None:
    text = written(large("single"), tmp_path).read_text(encoding="utf-8")
    (plain,) = re.findall(r"<noscript>(.*?)</noscript>", text, re.DOTALL)
    assert "report.out=[html] report.mode=directory" in plain
    assert f"{COUNT} of {COUNT} traces, the worst first" in plain
    assert "outreach-001" in plain and "<a " not in plain


def test_a_report_of_another_name_has_its_pages_beside_it(tmp_path: Path) -> None:
    written(runs.replaced(large("directory"), name="of june.html"), tmp_path)
    rows = rows_of(read(tmp_path / "of june.html"))
    links = [row.all("a", "row")[0].attributes["href"] for row in rows]
    assert all(link.startswith("of%20june/") for link in links)
    assert len(list((tmp_path / "of june").glob("*.html"))) == COUNT
    one = read(tmp_path / "of june" / Path(links[0]).name)
    assert "../of%20june.html" in [a.attributes["href"] for a in one.all("a")]


@pytest.mark.usefixtures("many")
def test_what_was_planted_acts_in_no_part(tmp_path: Path) -> None:
    single = read(written(large("single"), tmp_path / "single"))
    parts = [Page(unpacked(e.text)) for n, e in single.by_id().items() if n.startswith("part-")]
    written(large("directory"), tmp_path / "pages")
    pages = [read(file) for file in (tmp_path / "pages" / "report").glob("*.html")]
    assert len(parts) == len(pages) == COUNT
    for page in (*parts, *pages, *rows_of(single)):
        names = {name for element in page.elements for name in element.attributes}
        assert not {name for name in names if name.startswith("on")} and "style" not in names
        tags = {element.tag for element in page.elements}
        assert not tags & {"img", "iframe", "object", "embed", "base"}
    for page in (*parts, *rows_of(single)):
        assert not {e.tag for e in page.elements} & {"script", "style", "link", "meta", "form"}
    for page in pages:
        (script,) = page.all("script")
        assert sample.HOSTILE[1] not in script.text


def test_the_shelf_gives_back_what_was_put_on_it_and_knows_its_size() -> None:
    texts = {n: "ä" * n + str(n) for n in (0, 7, 3000)}
    with shelf() as kept:
        for n, text in texts.items():
            kept.put(n, text)
        assert {n: kept.text(n) for n in texts} == texts
        assert gzip.decompress(kept.data(7)).decode("utf-8") == texts[7]
        assert kept.data(7)[4:8] == b"\0\0\0\0"
        assert kept.size == sum(len(base64.b64encode(kept.data(n))) for n in texts)


def test_a_run_in_the_same_folder_leaves_no_page_of_the_one_before(tmp_path: Path) -> None:
    made.write_traces(tmp_path / "traces.jsonl", [made.trace("t1")])
    check = {"primitive": "presence", "field": "output.response"}
    made.write_suite(
        tmp_path / "suite.yaml", [made.row("spoke", **{"class": "code", "code_eval": check})]
    )
    run = tmp_path / "run"

    def evaluated() -> None:
        helix.evaluate(tmp_path / "traces.jsonl", tmp_path / "suite.yaml", run_dir=run)

    evaluated()
    written(runs.replaced(large("directory"), name="report.html"), run)
    (run / "report.md").write_text("of the run before", encoding="utf-8")
    assert (run / "report").is_dir()
    evaluated()
    assert not (run / "report").exists() and not (run / "report.html").exists()
