"""`pytest --helix`: what each cell becomes, on real files, in one process and in several."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.app.cases import CELLS
from helix.pytest_plugin import escaped

pytest_plugins = ["pytester"]

# pytester forgets modules that a session in this process imports; half of Helix twice is no Helix.
importlib.import_module("helix.app.tested")

SUITE = """\
suite: desk
version: 1
tools: [issue_refund]
criteria:
  - criterion_id: says-refunded
    statement: Pass = the reply speaks of a refund.
    severity: CRIT
    tags: [money, "area:billing", skip]
    class: code
    code_eval: {primitive: format-validity, field: output.response, pattern: '(?i)refund'}
  - criterion_id: yes-first
    statement: Pass = every refund follows an explicit yes of the user.
    severity: MED
    class: code
    code_eval:
      primitive: required-order
      first: {message: user, matches: '(?i)\\byes\\b'}
      then: {tool: issue_refund}
"""
JUDGED = """\
  - criterion_id: polite
    statement: Pass = the reply is polite.
    severity: HIGH
    class: judge
"""
TRACES = {
    "desk-1": ("Refund order 7? Yes.", "The refund is done."),
    "desk-2": ("Refund order 8? Yes.", "Done."),
    "odd::id [1]/\u202e %": ("Hello", "No refund."),
}


def trace(name: str, asked: str, said: str) -> str:
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]
    return json.dumps({"id": name, "messages": messages})


@pytest.fixture
def folder(pytester: pytest.Pytester) -> Path:
    """A folder with traces and a suite that code decides; helix needs no judge."""
    path = pytester.path
    lines = [trace(name, *said) for name, said in TRACES.items()]
    (path / "traces.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (path / "desk.suite.yaml").write_text(SUITE, encoding="utf-8")
    return path


BASE = ("--helix", "desk.suite.yaml", "--helix-traces", "traces.jsonl")
NOBODY = ("--helix-set", "judge=none")


def runs(folder: Path) -> list[Path]:
    """Return the run directories that there are."""
    return sorted((folder / "outputs" / "evaluate").glob("*"))


def test_the_package_brings_the_plugin_along() -> None:
    (found,) = importlib.metadata.entry_points(group="pytest11", name="helix")
    assert found.value == "helix.pytest_plugin"


def test_without_a_suite_nothing_of_helix_is_imported(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test_lean():\n"
        "    assert [m for m in sys.modules if m.startswith('helix.')] == ['helix.pytest_plugin']\n"
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_every_cell_is_one_test_that_ends_as_the_cell_does(
    pytester: pytest.Pytester, folder: Path
) -> None:
    result = pytester.runpytest(*BASE, "-v", "-rA")
    result.assert_outcomes(passed=2, failed=1, skipped=3)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines_random(
        [
            "desk.suite.yaml::desk-1::says-refunded PASSED*",
            "desk.suite.yaml::desk-2::says-refunded FAILED*",
            "desk.suite.yaml::desk-1::yes-first SKIPPED*",
        ]
    )


def test_a_failure_shows_critique_and_evidence_and_no_traceback(
    pytester: pytest.Pytester, folder: Path
) -> None:
    text = pytester.runpytest(*BASE).stdout.str()
    assert "fail: CRIT says-refunded" in text
    assert "trace: desk-2 (traces.jsonl:2)" in text
    assert re.search(r"evidence: .*Done\.. in \S+ output\.response", text)
    assert re.search(r"FAILED desk\.suite\.yaml::desk-2::says-refunded - fail: ", text)
    assert "Traceback" not in text and "pytest_plugin.py" not in text


def test_a_cell_that_nobody_decided_is_incomplete_and_fails_the_session(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "desk.suite.yaml").write_text(SUITE + JUDGED, encoding="utf-8")
    result = pytester.runpytest(*BASE, *NOBODY, "-k", "polite", "-v")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    text = result.stdout.str()
    assert "desk.suite.yaml::desk-1::polite INCOMPLETE" in text
    assert "INCOMPLETE desk.suite.yaml::desk-1::polite - unavailable: " in text
    assert "3 incomplete" in text and " failed" not in text


def test_a_row_that_does_not_gate_says_so_behind_its_name(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "desk.suite.yaml").write_text(SUITE + JUDGED.replace("HIGH", "LOW"), encoding="utf-8")
    text = pytester.runpytest(*BASE, *NOBODY, "-k", "polite").stdout.str()
    assert "incomplete: LOW polite, not gating\n" in text


def test_incomplete_can_be_an_expected_failure_that_still_has_its_reason(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "desk.suite.yaml").write_text(SUITE + JUDGED, encoding="utf-8")
    accepted = ("--helix-incomplete", "xfail", "-k", "polite", "-rx")
    result = pytester.runpytest(*BASE, *NOBODY, *accepted)
    result.assert_outcomes(xfailed=3)
    assert result.ret == pytest.ExitCode.OK
    assert "incomplete: unavailable" in result.stdout.str()
    result = pytester.runpytest(*BASE, *NOBODY, *accepted, "--runxfail")
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_a_dispatched_question_leaves_its_cells_incomplete_and_names_its_file(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "desk.suite.yaml").write_text(SUITE + JUDGED, encoding="utf-8")
    result = pytester.runpytest(*BASE, "--helix-set", "judge.model=reader")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    named = set(re.findall(r"waits for an answer to (\S+\.packet\.json)", result.stdout.str()))
    assert len(named) == len(TRACES)
    assert all((folder / name).is_file() for name in named)


def test_a_traces_text_cannot_act_on_the_terminal(pytester: pytest.Pytester, folder: Path) -> None:
    said = "\x1b[2J\u202eno\ud800"
    (folder / "traces.jsonl").write_text(trace("desk-\x1b[1m", "x", said), encoding="utf-8")
    result = pytester.runpytest(*BASE, "--junitxml=junit.xml", "--color=no")
    text = result.stdout.str()
    assert "desk.suite.yaml::desk-%1B%5B1m::says-refunded" in text
    assert r"\x1b[2J\u202eno\ud800" in text
    assert not {"\x1b", "\u202e", "\ud800"} & set(text)
    assert ET.parse(folder / "junit.xml").getroot() is not None


def test_each_repeat_of_a_trace_has_tests_of_its_own(
    pytester: pytest.Pytester, folder: Path
) -> None:
    result = pytester.runpytest(*BASE, "--helix-set", "sampling.replicates=2", "-v")
    result.assert_outcomes(passed=4, failed=2, skipped=6)
    assert "desk.suite.yaml::desk-2#1::says-refunded FAILED" in result.stdout.str()


def test_a_subject_of_ones_own_is_found_in_its_folder(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "conf" / "subject").mkdir(parents=True)
    (folder / "conf" / "subject" / "mine.yaml").write_text("name: mine\n", encoding="utf-8")
    words = ("--helix-config-dir", "conf", "--helix-set", "subject=mine")
    pytester.runpytest(*BASE, *words)
    (run,) = runs(folder)
    assert json.loads((run / "scorecard.json").read_text(encoding="utf-8"))["subject"] == "mine"


def test_a_waived_failure_is_expected_and_says_who_waives_it(
    pytester: pytest.Pytester, folder: Path
) -> None:
    waiver = (
        "gate.waivers=[{criterion: says-refunded, by: Ada, reason: old, expires: '2999-01-01'}]"
    )
    result = pytester.runpytest(*BASE, "--helix-set", waiver, "-rx")
    result.assert_outcomes(passed=2, xfailed=1, skipped=3)
    assert "waived by Ada until 2999-01-01" in result.stdout.str()


def test_what_failed_in_the_baseline_is_expected(pytester: pytest.Pytester, folder: Path) -> None:
    pytester.runpytest(*BASE)
    (before,) = runs(folder)
    result = pytester.runpytest(*BASE, "--helix-set", f"gate.baseline={before}", "-rx")
    result.assert_outcomes(passed=2, xfailed=1, skipped=3)
    assert "known from the baseline" in result.stdout.str()


def test_a_gate_that_no_cell_explains_is_a_test_of_its_own(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "traces.jsonl").write_text(
        trace("desk-1", *TRACES["desk-1"]) + "\n{broken\n", encoding="utf-8"
    )
    result = pytester.runpytest(*BASE)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert "INCOMPLETE desk.suite.yaml::gate - " in result.stdout.str()
    assert "traces.jsonl:2" in result.stdout.str()


@pytest.mark.parametrize(
    ("words", "passed", "failed", "skipped"),
    [
        (("-m", "CRIT"), 2, 1, 0),
        (("-m", "gating"), 2, 1, 0),
        (("-m", "MED and code"), 0, 0, 3),
        (("-m", "judge"), 0, 0, 0),
        (("-m", "tag-money"), 2, 1, 0),
        (("-m", "tag-area-billing"), 2, 1, 0),
        (("-m", "tag-skip"), 2, 1, 0),
        (("-k", "desk-2"), 0, 1, 1),
        (("-k", "yes-first"), 0, 0, 3),
        (("desk.suite.yaml::desk-1",), 1, 0, 1),
        (("desk.suite.yaml::desk-1::says-refunded",), 1, 0, 0),
        (("desk.suite.yaml::odd%3A%3Aid%20%5B1%5D%2F%E2%80%AE%20%25::says-refunded",), 1, 0, 0),
    ],
)
def test_tests_are_picked_by_marker_keyword_and_id(
    words: tuple[str, ...],
    passed: int,
    failed: int,
    skipped: int,
    pytester: pytest.Pytester,
    folder: Path,
) -> None:
    result = pytester.runpytest(*BASE, *words, "--strict-markers")
    result.assert_outcomes(
        passed=passed, failed=failed, skipped=skipped, deselected=result.parseoutcomes().get(
            "deselected", 0)
    )  # fmt: skip


def test_ordinary_tests_run_beside_unless_the_suite_is_named(
    pytester: pytest.Pytester, folder: Path
) -> None:
    pytester.makepyfile("def test_ordinary():\n    pass\n")
    assert pytester.runpytest(*BASE).parseoutcomes()["passed"] == 3
    pytester.makepyfile(test_b="def test_other():\n    pass\n")
    assert pytester.runpytest(*BASE, "test_b.py").parseoutcomes()["passed"] == 3
    assert pytester.runpytest(*BASE, "desk.suite.yaml").parseoutcomes()["passed"] == 2


def test_what_failed_last_runs_again_alone(pytester: pytest.Pytester, folder: Path) -> None:
    pytester.runpytest(*BASE)
    again = pytester.runpytest(*BASE, "--lf")
    again.assert_outcomes(failed=1, deselected=5)
    mended = folder / "traces.jsonl"
    mended.write_text(
        mended.read_text(encoding="utf-8").replace('"Done."', '"Refund."'), encoding="utf-8"
    )
    pytester.runpytest(*BASE, "--lf").assert_outcomes(passed=1, deselected=5)


def test_collecting_asks_nobody_and_leaves_no_run(pytester: pytest.Pytester, folder: Path) -> None:
    (folder / "desk.suite.yaml").write_text(SUITE + JUDGED, encoding="utf-8")
    result = pytester.runpytest(
        *BASE, "--helix-set", "judge.model=reader", "--collect-only", "-q", "-p", "no:cacheprovider"
    )
    ids = [line for line in result.stdout.lines if "::" in line]
    assert len(ids) == len(TRACES) * 3
    assert "desk.suite.yaml::desk-2::polite" in ids
    assert {path.name for path in folder.iterdir()} == {"traces.jsonl", "desk.suite.yaml"}


def test_processes_agree_and_the_judge_is_asked_once(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "desk.suite.yaml").write_text(SUITE + JUDGED, encoding="utf-8")
    (folder / "judge.py").write_text(
        "def judge(request):\n"
        "    with open('asked.txt', 'a', encoding='utf-8') as file:\n"
        "        file.write('x')\n"
        "    return 'no verdict'\n",
        encoding="utf-8",
    )
    settings = ("judge=scripted", "judge.script=judge.py", "judge.model=m", "verifier=none")
    words = (*BASE, "-v", *(word for one in settings for word in ("--helix-set", one)))
    spread = pytester.runpytest_subprocess(*words, "-n", "2")
    (run,) = runs(folder)
    usage = json.loads((run / "scorecard.json").read_text(encoding="utf-8"))["usage"]
    asked = (folder / "asked.txt").read_text(encoding="utf-8")
    assert len(asked) == usage["calls"] >= len(TRACES)
    assert (run / CELLS).is_file() and (run / "report.html").is_file()

    alone = pytester.runpytest(*words)
    assert (folder / "asked.txt").read_text(encoding="utf-8") == asked
    assert alone.parseoutcomes() == spread.parseoutcomes()
    word = "(?:PASSED|FAILED|SKIPPED|INCOMPLETE)"
    one = re.findall(rf"^(desk\S+) ({word})", alone.stdout.str(), re.MULTILINE)
    other = re.findall(rf"({word}) (desk\S+) *$", spread.stdout.str(), re.MULTILINE)
    assert len(one) == 3 * len(TRACES)
    assert sorted(one) == sorted((node, word) for word, node in other)


def test_the_junit_file_tells_failures_skips_and_incompletes_apart(
    pytester: pytest.Pytester, folder: Path
) -> None:
    (folder / "desk.suite.yaml").write_text(SUITE + JUDGED, encoding="utf-8")
    pytester.runpytest(*BASE, *NOBODY, "--junitxml=junit.xml")
    (suite,) = ET.parse(folder / "junit.xml").getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == [
        "9", "1", "3", "3",
    ]  # fmt: skip
    (failed,) = [case for case in suite if case.find("failure") is not None]
    assert (failed.get("classname"), failed.get("name")) == (
        "desk.suite.yaml.desk-2",
        "says-refunded",
    )
    told = failed.find("failure")
    assert told is not None and (told.get("message") or "").startswith("fail: ")
    states = {p.get("value") for p in suite.iter("property") if p.get("name") == "helix.state"}
    assert states == {"pass", "fail", "incomplete", "na"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--helix", "desk.suite.yaml"), "add --helix-traces PATH"),
        (("--helix-traces", "traces.jsonl"), "need --helix SUITE"),
        ((*BASE, "--helix-set", "gate.polcy=rate"), "did you mean 'gate.policy'?"),
        ((*BASE, "--helix-set", "run.dry=true"), "run.dry"),
        ((*BASE, "--helix-set", "shard.count=2"), "shard.count must be 1"),
        ((*BASE, "--helix-config-dir", "none"), "config folder none does not exist"),
        (("--helix", "dask.yaml", "--helix-traces", "traces.jsonl"), "no file dask.yaml"),
        (("--helix", "desk.suite.yaml", "--helix-traces", "-"), "(got -)"),
        (("--helix", "desk.suite.yaml", "--helix-traces", "none.jsonl"), "none.jsonl"),
    ],
)
def test_what_cannot_be_run_is_usage(
    words: tuple[str, ...], told: str, pytester: pytest.Pytester, folder: Path
) -> None:
    result = pytester.runpytest(*words)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert told in result.stderr.str()


@settings(max_examples=200)
@given(st.text(), st.text())
def test_ids_stay_apart_and_are_fit_for_a_node_id(one: str, other: str) -> None:
    name = escaped(one)
    assert name and name.isprintable() and not set(name) & set(" :[]/#\\")
    assert len(name) < 140
    assert (name == escaped(other)) == (one == other)


def test_the_page_on_pytest_shows_commands_that_run(
    pytester: pytest.Pytester, folder: Path, project: Path
) -> None:
    page = (project / "docs" / "pytest.md").read_text(encoding="utf-8")
    typed = re.findall(r"^\$ pytest (.+)$", page, re.MULTILINE)
    assert len(typed) >= 3
    for line in typed:
        line = line.replace("suite.yaml", "desk.suite.yaml").replace("runs/", "traces.jsonl")
        assert pytester.runpytest(*line.split()).ret in (0, 1), line
