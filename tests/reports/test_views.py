"""The page's views, read back: figures are those of the lines, and the unknown stays unknown."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from helix.app.cli import main
from helix.model.scorecard import Ratio
from helix.model.verdict import MatrixVerdictFile
from helix.reports import views
from helix.reports.page import PageFacts
from helix.reports.run import RunReport
from helix.reports.since import Since
from helix.runs import RunFiles
from tests.reports.pages import Page, page_of
from tests.reports.sample import report


@pytest.fixture(scope="module")
def made() -> RunReport:
    return report(14)


@pytest.fixture(scope="module")
def facts(made: RunReport) -> PageFacts:
    found = PageFacts.begun(made)
    for trace in made.traces:
        found.add(trace)
    return found


def states(lines: tuple[MatrixVerdictFile, ...], criterion: str, route: str | None) -> Counter[str]:
    of = (line for line in lines if route is None or line.route == route)
    return Counter(line.dense_map[criterion] for line in of if criterion in line.dense_map)


def test_every_spot_of_the_heatmap_counts_the_cells_of_its_route(
    made: RunReport, facts: PageFacts
) -> None:
    routes = [route for route, _ in facts.heat.routes]
    assert routes and len(facts.spots) == len(made.rows)
    for row, spots in facts.spots:
        for route, spot in zip([None, *routes], spots, strict=True):
            found = states(made.lines, row.id, route)
            assert spot.failing == found["fail"]
            assert spot.decided == found["fail"] + found["pass"]
            assert spot.undecided == found["uncertain"]


def test_where_nothing_was_decided_there_is_no_rate(facts: PageFacts) -> None:
    told = {spot.told for _, spots in facts.spots for spot in spots if not spot.decided}
    assert told and all("%" not in text for text in told)
    assert all(not spot.level for _, spots in facts.spots for spot in spots if not spot.failing)


def test_a_rate_stands_with_its_n_in_the_page(made: RunReport) -> None:
    page = Page(page_of(made))
    spots = [e for e in page.all("td", "spot") if "none" not in e.classes]
    assert spots
    for spot in spots:
        share, k, n = re.match(r"\s*(\d+)%(\d+) of (\d+)", spot.text).groups()  # type: ignore[union-attr]
        assert int(share) == round(100 * int(k) / int(n))


def test_the_views_of_a_run_without_a_folder_say_that_nothing_was_recorded(
    made: RunReport,
) -> None:
    page = Page(page_of(made))
    assert "not recorded: the run’s folder was not at hand" in page.by_id()["dataset"].text
    text = page.by_id()["itself"].text
    assert "What the machinery did" in text and "not recorded" in text
    assert "baseline" not in page.by_id()


def test_what_was_emitted_is_counted_against_what_was_planned(
    made: RunReport, facts: PageFacts
) -> None:
    assert views.emitted(facts.card, facts.itself) == Ratio(
        k=sum(len(line.dense_map) for line in made.lines), n=facts.card.cells.total
    )


def test_the_parts_of_a_bar_are_as_long_as_the_states_are_many(facts: PageFacts) -> None:
    parts = views.shares(facts.card)
    assert round(sum(length for _, _, length in parts)) == 1000
    ends = [round(at + length) for _, at, length in parts]
    assert ends == [round(at) for _, at, _ in parts[1:]] + [1000]


ROWS = [("says-something", "output.response"), ("names-a-booking", "output.booking")]


def traces(path: Path, **outputs: dict[str, str]) -> Path:
    lines = [
        {"schemaVersion": "1.0", "id": name, "input": {"prompt": "Hi"}, "output": output}
        for name, output in outputs.items()
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def evaluated(folder: Path, name: str, found: Path, *words: str) -> Path:
    rows = [
        {
            "criterion_id": row,
            "statement": f"Pass = {field} is there.",
            "severity": "HIGH",
            "class": "code",
            "code_eval": {"primitive": "presence", "field": field},
        }
        for row, field in ROWS
    ]
    suite = folder / "suite.yaml"
    suite.write_text(json.dumps({"suite": "desk", "version": 1, "criteria": rows}), "utf-8")
    main(["evaluate", f"subject.traces={found}", f"criteria.file={suite}", "judge=none",
          f"paths.state={folder / 'state'}", f"hydra.run.dir={folder / name}",
          "report.out=[html]", *words])  # fmt: skip
    return folder / name


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose baseline it has a new failure, a known one and a fixed one against."""
    folder = tmp_path_factory.mktemp("runs")
    good = {"response": "Yes", "booking": "b-1"}
    before = traces(folder / "a.jsonl", one=good, two={"response": "Yes"}, three={"booking": "b"})
    first = evaluated(folder, "first", before)
    after = traces(folder / "b.jsonl", one={"response": "Yes"}, two={"response": "Yes"}, three=good)
    return evaluated(folder, "second", after, f"gate.baseline={first}")


def test_cells_are_new_known_or_fixed_against_the_baseline(later: Path) -> None:
    page = Page((later / "report.html").read_text(encoding="utf-8"))
    chips = {
        (
            cell.inside("traj").attributes["data-trace"],  # type: ignore[union-attr]
            cell.attributes["data-criterion"],
            chip.text,
        )
        for cell in page.all("details", "cell")
        for chip in page.all("span", "chip")
        if chip.inside("cell") is cell
    }
    assert chips == {
        ("one", "names-a-booking", "new"),
        ("two", "names-a-booking", "known"),
        ("three", "says-something", "fixed"),
    }
    told = " ".join(page.by_id()["baseline"].text.split())
    assert "2 failed already" not in told and "pass → fail" in told


def test_the_words_of_the_page_agree_with_the_gates_own_count(later: Path) -> None:
    page = Page((later / "report.html").read_text(encoding="utf-8"))
    rows = {row.criterion_id: row for row in RunFiles(later).scorecard().criteria}
    chips = Counter(
        (chip.inside("cell").attributes["data-criterion"], chip.text)  # type: ignore[union-attr]
        for chip in page.all("span", "chip")
        if chip.inside("cell")
    )
    for name, row in rows.items():
        assert (row.known, row.new) == (chips[name, "known"], chips[name, "new"])


def test_what_only_some_repeats_failed_in_the_baseline_is_new_as_it_is_at_the_gate(
    made: RunReport,
) -> None:
    trace, cell = next((t, c) for t in made.traces for c in t.cells if c.state == "fail")
    place = (trace.id, cell.row.id)
    before = {(trace.id, trace.line.replicate): {cell.row.id: "fail"}}
    for failing, word in ((frozenset({place}), "known"), (frozenset(), "new")):
        assert Since("before", before, failing, None).word(trace, cell) == word


def test_the_dataset_view_counts_the_rows_that_build_dataset_takes(
    later: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Page((later / "report.html").read_text(encoding="utf-8"))
    table = next(t for t in page.all("table", "tallied") if "reason" in t.text)
    cells = [
        [c.text for c in page.all() if row in c.above]
        for row in page.all("tr")
        if table in row.above
    ]
    shown = {why: int(n) for why, n, *_ in cells if n.isdigit()}
    state = later.parent / "state"
    capsys.readouterr()
    main(["build-dataset", "dataset.name=d", f"dataset.runs={later}", f"paths.state={state}"])
    written = (state / "datasets" / "d" / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    taken = Counter(json.loads(line)["why"] for line in written)
    assert shown == {"failing": taken["failing"], "uncertain": 0, "candidate": 0}


def test_the_run_view_names_plan_versions_and_what_the_run_knew(later: Path) -> None:
    text = Page((later / "report.html").read_text(encoding="utf-8")).by_id()["run"].text
    for told in ("sampling.strategy", "gate.policy", "no memory entry was known", "Python"):
        assert told in text


def test_a_baseline_that_is_gone_is_no_view_and_no_fault(later: Path, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(later, moved)
    plan = json.loads((moved / "plan.json").read_text(encoding="utf-8"))
    plan["runs"]["baseline"] = str(tmp_path / "nowhere")
    (moved / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    assert main(["report", str(moved), "report.out=[html]"]) == 0
    assert "baseline" not in Page((moved / "report.html").read_text("utf-8")).by_id()


@pytest.mark.parametrize("mode", ["single", "directory"])
def test_without_scripts_no_link_to_a_place_leads_nowhere(
    later: Path, tmp_path: Path, mode: str
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(later, folder)
    assert main(["report", str(folder), "report.out=[html]", f"report.mode={mode}"]) == 0
    page = Page((folder / "report.html").read_text(encoding="utf-8"))
    links = {e.attributes["href"] for e in page.all("a")}
    assert len(links) > 10
    for link in links:
        file, _, anchor = link.partition("#")
        there = Page((folder / file).read_text("utf-8")) if file else page
        # An address that names a trace is followed by the script.
        assert not anchor or "=" in anchor or anchor in there.by_id(), link


def test_a_hostile_id_reaches_its_trace_from_the_dataset_and_breaks_no_view(tmp_path: Path) -> None:
    name = "lone \ud83d & </script>\" ' \x1b[31m"
    run = evaluated(
        tmp_path, "with a space", traces(tmp_path / "a.jsonl", **{name: {"other": "x"}})
    )
    page = Page((run / "report.html").read_text(encoding="utf-8"))
    (link,) = {
        e.attributes["href"]
        for e in page.all("a")
        if any(above.attributes.get("id") == "dataset" for above in e.above)
        and "says-something" in e.attributes["href"]
    }
    to = parse_qs(link.removeprefix("#"))
    (trace,) = page.all("details", "traj")
    assert to["trace"] == [trace.attributes["data-trace"]]
    assert to["criterion"] == ["says-something"]
    command, again = (shlex.split(one.text) for one in page.all("pre", "command"))
    assert command[-1] == f"dataset.runs={run}"
    assert again[-1] == f"select.failed_from={run}"
