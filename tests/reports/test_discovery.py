"""The discovery report in every form: complete, honest about what was not read, and inert."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from rich.cells import cell_len

from helix.app.cli import main
from helix.discover.saturation import curve
from helix.model.discovery import Triage
from helix.reports import discovery as composer
from helix.reports import discovery_facts as facts
from helix.reports.discovered import discovered_text
from helix.reports.discovery import DiscoveryReport
from helix.reports.discovery_documents import discovery_json, discovery_markdown
from helix.reports.discovery_page import drawn, render_discovery
from helix.reports.run import RunMeta
from helix.reports.visible import visible
from tests.reports.findings import NASTY, determined, discovery, record
from tests.reports.pages import Page
from tests.reports.sample import HOSTILE


@pytest.fixture(scope="module")
def made() -> DiscoveryReport:
    return discovery()


@pytest.fixture(scope="module")
def html(made: DiscoveryReport) -> str:
    return render_discovery(made).decode("utf-8")


@pytest.fixture(scope="module")
def page(html: str) -> Page:
    return Page(html)


def text(made: DiscoveryReport, width: int = 80, ascii: bool = False) -> str:
    return discovered_text(made, width, color=False, ascii=ascii)


def test_a_trace_that_nobody_decided_is_told_from_one_that_cannot_be_decided(
    made: DiscoveryReport,
) -> None:
    standings = [read.standing for read in made.reads]
    assert standings == ["fail", "fail", "fail", "pass", "uncertain", "incomplete", "incomplete"]
    assert made.reads[5].undecided == ("", composer.READ_IT)


def test_a_kind_counts_no_trace_that_its_reader_passed_and_no_symptom(
    made: DiscoveryReport,
) -> None:
    seen = {k.category.name: [read.index for read, _ in k.seen] for k in made.kinds}
    assert seen == {"sent twice": [0, 1], NASTY: [1, 2], "no tool": [3], "down": [4]}
    counted = {s.detection.kind: s.counted for r in made.reads for s in r.seen if r.index in (1, 3)}
    assert counted == {"sent twice": False, NASTY: True, "led": False, "no tool": True}


def test_the_funnel_only_narrows_and_says_what_became_of_the_rest(made: DiscoveryReport) -> None:
    stages = [(stage.name, stage.n) for stage in made.funnel]
    assert stages == [
        ("found", 9), ("sampled", 7), ("examined", 6), ("decided", 4), ("failing", 3),
        ("in a kind", 3), ("with a criterion", 3),
    ]  # fmt: skip
    assert made.funnel[-1].told == "2 with an observed one"


def test_proof_of_work_says_who_read_what_and_what_nobody_read(made: DiscoveryReport) -> None:
    told = dict(facts.proof(made))
    assert told["read whole"] == "3 of 6; 1 trace waiting for an answer"
    assert told["read in part"] == "1: input, tool sequence and end alone"
    assert told["read by"] == "r1 (example/reader-1, temperature 0): 4 traces"
    assert told["not read by anybody"] == "2 of 6: outreach-000, outreach-005"
    assert told["not sampled"] == "2 of 9 found"
    assert told["detectors"].startswith("3 suggested 4 checks; they detected: duplicate 3, ")


@pytest.mark.parametrize(
    ("stopped", "kinds", "told"),
    [
        (True, [], "5 traces, 3 traces without a new kind; asking stopped there"),
        (
            True,
            ["c"],
            "5 traces, 3 traces without a new kind, but 1 new kind came after them; "
            "asking stopped after 6 traces",
        ),
        (
            False,
            ["c"],
            "5 traces, 3 traces without a new kind, but 1 new kind came after them; "
            "all were examined all the same",
        ),
    ],
)
def test_new_kinds_after_the_quiet_window_are_told(
    stopped: bool, kinds: list[str], told: str
) -> None:
    shown = [["a"], ["b"], [], [], [], *([kinds] if kinds else [])]
    report = replace(discovery(stopped=stopped), curve=curve(shown, 3))
    assert facts.saturation(report) == f"saturated after {told}"


def test_what_was_not_recorded_is_said_and_is_not_zero() -> None:
    bare = discovery(detectors=None, usage={"calls": 4, "cacheHits": 0, "costMicroUsd": None})
    assert dict(facts.proof(bare))["detectors"] == "not recorded"
    assert facts.cost(bare) == "4 calls, 0 cache hits, cost not recorded"
    shown = Page(render_discovery(bare).decode()).by_id()["coverage"].text
    assert "detectorsnot recorded" in shown and "Subjectnot recorded" in shown
    assert "subject: not recorded" in discovery_markdown(bare).decode()


def test_of_everything_cited_a_dead_ref_does_not_resolve(made: DiscoveryReport, page: Page) -> None:
    assert (made.grounded.k, made.grounded.n) == (4, 5)
    dead = page.all("li", "dead")
    assert dead and all(e.inside("kind") or e.inside("traj") for e in dead)


SOUND = {"fail": 0, "passed": 6, "uncertain": 0}


@pytest.mark.parametrize(
    ("triage", "headline", "standing"),
    [
        ({}, "At least 3 of 6 traces fail", "fail"),
        ({"fail": 1}, "At least 1 of 6 traces fails", "fail"),
        ({"passed": 3, "uncertain": 0}, "3 of 6 traces fail", "fail"),
        ({"fail": 0, "passed": 1, "uncertain": 5}, "No failure was found", "incomplete"),
        ({**SOUND, "cut_off": 0, "unreadable": 0}, "All 6 pass", "pass"),
        ({**SOUND, "cut_off": 0}, "No failure was found", "incomplete"),
        ({**SOUND, "unreadable": 0}, "No failure was found", "incomplete"),
        ({"examined": 0, "fail": 0, "uncertain": 0}, "Nothing was examined", "incomplete"),
    ],
)
def test_no_unknown_becomes_a_pass(triage: dict[str, int], headline: str, standing: str) -> None:
    whole = {
        "found": 9, "unreadable": 1, "sampled": 7, "cut_off": 1, "examined": 6, "read": 4,
        "pending": 1, "fail": 3, "passed": 1, "uncertain": 2,
    }  # fmt: skip
    one = discovery(triage=Triage(**{**whole, **triage}))
    assert (facts.headline(one), facts.outcome(one)) == (headline, standing)
    assert headline in render_discovery(one).decode() and headline in text(one).replace(
        headline.upper(), headline
    )


def test_a_discovery_that_waits_says_so_and_that_nobody_has_read_yet() -> None:
    none = Triage(
        found=7, unreadable=0, sampled=7, cut_off=1, examined=6, read=0, pending=5, fail=0,
        passed=0, uncertain=6,
    )  # fmt: skip
    unread = [determined(n, "uncertain", cause="unread") for n in range(6)]
    waiting = composer.compose(record(triage=none), unread, {})
    assert dict(facts.proof(waiting))["read by"] == "nobody yet"
    assert "read by nobody 6 of 6, 5 of them waiting for an answer" in text(waiting)
    assert "5 waiting for an answer" in Page(render_discovery(waiting).decode()).elements[0].text
    told = ("Waiting: 5 traces for answers; run the same command again:", "  helix discover")
    page = Page(render_discovery(replace(waiting, meta=RunMeta(waiting=told))).decode())
    (waits,) = page.all("details", "waits")
    assert waits.text == "".join(told) and "open" in waits.attributes


def test_a_discovery_of_nothing_is_shown_as_that() -> None:
    none = Triage(
        found=0, unreadable=0, sampled=0, cut_off=0, examined=0, read=0, pending=0, fail=0,
        passed=0, uncertain=0,
    )  # fmt: skip
    empty = composer.compose(
        record(triage=none, categories=(), folded=(), criteria=(), symptoms=(), judge=None), (), {}
    )
    page = Page(render_discovery(empty).decode())
    assert "No kind of failure was found." in page.by_id()["kinds"].text
    assert "nothing to measure" in page.by_id()["summary"].text
    assert "No criterion is proposed." in text(empty) and discovery_markdown(empty)


def test_every_link_of_the_page_leads_to_an_element(page: Page) -> None:
    targets = page.by_id()
    links = [e.attributes["href"] for e in page.all("a")]
    assert len(links) > 40
    assert [link for link in links if not link.startswith("#") or link[1:] not in targets] == []


def test_evidence_of_a_kind_leads_to_the_very_words_in_the_trace(page: Page) -> None:
    link = next(e for e in page.all("a", "to") if e.inside("kind") and "mara" in e.text)
    mark = page.by_id()[link.attributes["href"][1:]]
    assert (mark.tag, mark.text) == ("mark", "mara@example.org")


def test_each_kind_shows_its_criterion_why_and_where_it_fires(page: Page) -> None:
    kinds = {e.attributes["id"]: " ".join(e.text.split()) for e in page.all("article", "kind")}
    assert "2 of 6 (10% to 70%)" in kinds["k0"]
    assert "Observed: its check fires on 2 traces, passes on 1 healthy trace" in kinds["k0"]
    assert "fires onoutreach-000, outreach-001 silent onoutreach-005" in kinds["k0"]
    assert "primitive: duplicate-writes" in kinds["k0"]
    assert "Inferred: no check of code separates its traces" in kinds["k1"]
    assert "No criterion: it goes to diagnostics" in kinds["k2"] and "to mend" in kinds["k2"]


def test_the_policy_allows_only_the_pages_own_script_and_style(page: Page) -> None:
    (policy,) = (e.attributes["content"] for e in page.all("meta") if "http-equiv" in e.attributes)
    for tag in ("style", "script"):
        for e in page.all(tag):
            digest = base64.b64encode(hashlib.sha256(e.text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    names = {name for e in page.elements for name in e.attributes}
    assert not {n for n in names if n.startswith("on")} and not names & {"style", "src", "srcset"}
    assert not {e.tag for e in page.elements} & {"img", "iframe", "link", "object", "base", "embed"}


def test_hostile_text_is_shown_as_text_in_every_form(made: DiscoveryReport, page: Page) -> None:
    shown = page.elements[0].text
    for hostile in HOSTILE:
        assert visible(hostile) in shown
    said = [*map(text, (made,)), discovery_markdown(made).decode(), shown]
    for form in said:
        assert re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", form) == []
    outside = re.sub(r"^```yaml$.*?^```$", "", said[1], flags=re.MULTILINE | re.DOTALL)
    assert "<img" not in outside and "<script" not in outside


def test_a_fence_in_a_criterion_does_not_end_its_block() -> None:
    from helix.reports.discovery_documents import _fenced

    lines = list(_fenced('statement: "````\\n# Gate: pass"\n'))
    assert lines[0] == "`````yaml" and lines[-2] == "`````"


@pytest.mark.parametrize(("width", "ascii"), [(40, False), (40, True), (80, False), (120, True)])
def test_lines_keep_to_the_width(made: DiscoveryReport, width: int, ascii: bool) -> None:
    shown = text(made, width, ascii)
    long = [line for line in shown.splitlines() if cell_len(line) > width]
    assert all(line.startswith(("Report: ", "Next: ")) for line in long)
    assert not ascii or shown.isascii()
    for said in (
        "sent-twice",
        "MED, observed, code, found again",
        "4 of 5",
        "Next: read on",
    ):
        assert said in shown


def test_the_name_of_a_kind_is_never_cut_and_its_numbers_stand_in_its_first_line() -> None:
    name = "a call of sendMessage that repeats what another call in the same turn has sent before"
    made = discovery()
    first, *rest = made.kinds
    named = replace(first, category=msgspec.structs.replace(first.category, name=name))
    lines = text(replace(made, kinds=(named, *rest)), 80).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("a call of sendMessage"))
    assert re.search(r"\d/\d", lines[at]) and lines[at + 1].startswith("  ")
    told = " ".join(line[:44].strip() for line in lines[at : at + 3])
    assert told.startswith(name) and all(cell_len(line) <= 80 for line in lines[at : at + 3])


def test_q_leaves_the_outcome_of_a_discovery_alone() -> None:
    made = discovery()
    quiet = text(replace(made, meta=replace(made.meta, verbosity="quiet")), 80)
    whole = text(made, 80)
    assert whole.endswith(quiet) and len(quiet.splitlines()) < len(whole.splitlines()) // 2


def test_the_same_discovery_is_rendered_to_the_same_bytes() -> None:
    for render in (render_discovery, discovery_markdown, discovery_json):
        assert render(discovery()) == render(discovery())


def test_json_holds_every_determination(made: DiscoveryReport) -> None:
    value = json.loads(discovery_json(made))
    assert [one["traceId"] for one in value["determinations"]] == [r.id for r in made.reads]
    assert value["discovery"]["criteria"][0]["criterionId"] == "sent-twice"
    assert sum(part["traces"] for part in value["splits"].values()) == 6


def test_beyond_the_pages_size_the_worst_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(composer, "MAX_STEPS", 13)
    small = discovery()
    assert [read.index for read in small.reads if read.steps] == [1]
    assert small.reads[5].hidden == "left out for the page's size"


@pytest.mark.parametrize(
    ("known", "path"),
    [
        ([], None),
        ([0, 0], (2, 1, "M0 1H2")),
        ([1, 1, 3], (3, 3, "M0 3H0V2H2V0H3")),
    ],
)
def test_the_curve_steps_up_where_a_trace_brought_new_kinds(known: list[int], path: Any) -> None:
    assert drawn(known) == path


def typed(folder: Path, *words: str) -> int:
    return main(["discover", "subject=outreach", "paths.state=state", *words])


def test_the_demo_writes_every_report_that_is_named_and_twice_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pages = []
    for run in ("one", "two"):
        out = "report.out=[terminal,html,markdown,json]"
        assert typed(tmp_path, out, f"hydra.run.dir={run}") == 0
        page = Path(run, "report.html").read_text(encoding="utf-8")
        pages.append(re.sub(r"(<dt>(?:started|time|run directory)</dt><dd>|time )[^<]*", "", page))
        said = capsys.readouterr().out
        assert f"Report: {run}/report.html" in said and f"Report: {run}/report.md" in said
    assert pages[0] == pages[1]
    suite = yaml.safe_load(Path("one/criteria.suite.yaml").read_text(encoding="utf-8"))
    shown = Page(Path("one/report.html").read_text(encoding="utf-8"))
    told = "".join(e.text for e in shown.all("article", "kind"))
    assert all(row["criterionId"] in told for row in suite["criteria"])
    targets = shown.by_id()
    assert all(e.attributes["href"][1:] in targets for e in shown.all("a"))


def test_a_renderer_without_a_view_of_discoveries_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from helix.app.rendering import renderers
    from helix.errors import ConfigError
    from helix.model.config import ReportConfig
    from helix.registry import Renderer, load

    registry = load()
    one = Renderer("words", "1", "words.txt", lambda report: b"")
    real = registry.get
    monkeypatch.setattr(
        registry, "get", lambda kind, name: one if name == "words" else real(kind, name)
    )
    with pytest.raises(ConfigError, match="choose from html, json, markdown, terminal"):
        renderers(ReportConfig(out=("words",)), registry, discovery=True)
