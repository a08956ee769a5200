"""`helix answer`: what is typed becomes the answers that the engine reads."""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.app.test_waiting import SUITE, TRACE, Desk, Ran

ALONE = ("judge.model=Ada", "judge.axis=criterion", "verifier=none")
WALK = ["Renew one loan of Tides.", "Renew it by the tool.", "Tell the date.", ""]
DUE = [
    "2031-05-04",
    "2031-05-04",
    "Tides is yours until 2031-05-04.",
    "1",
    "",
    "The date told is the date returned. Against it: 'due' is not said.",
    "pass",
    "The tool returned 2031-05-04 and the answer tells 2031-05-04.",
    "",
]
STYLE = ["", "", "No style guide is to be seen.", "unc", "norm", "the desk's style guide"]


class Terminal(Desk):
    """A desk at which lines are typed."""

    def __init__(
        self, root: Path, capsys: pytest.CaptureFixture[str], patch: pytest.MonkeyPatch
    ) -> None:
        super().__init__(root, SUITE, capsys)
        self._patch = patch

    def typed(self, lines: Sequence[str], *words: str, by: str = "Ada") -> Ran:
        self._patch.setattr(sys, "stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        return self.command("answer", "--by", by, *words)

    def answers(self) -> list[dict[str, Any]]:
        found = sorted(self.folder.glob("*.verdict.json"))
        return [json.loads(place.read_text("utf-8")) for place in found]


@pytest.fixture
def desk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Terminal:
    monkeypatch.chdir(tmp_path)
    return Terminal(tmp_path, capsys, monkeypatch)


def test_two_people_go_from_the_question_to_the_gate(desk: Terminal) -> None:
    assert desk.evaluate("judge.model=m").returncode == 5
    done = desk.typed([*WALK, *DUE, *STYLE])
    assert (done.returncode, done.stderr) == (0, "")
    assert "=== 1 of 1: loan-7, 2 criteria to judge\n" in done.stdout
    assert done.stdout.index("What should it do") < done.stdout.index("step 1: TOOL renew_loan")
    assert "  in [call-1] output.due_date\n" in done.stdout
    (answer,) = desk.answers()
    assert answer["reviewer"] == "Ada"
    assert answer["verdicts"][0]["refs"][0] == {
        "obs": "call-1",
        "path": "output.due_date",
        "value": "2031-05-04",
    }

    second = desk.evaluate("judge.model=m")
    assert (second.returncode, second.stderr) == (5, "")
    assert "asked again" not in second.stdout, "nothing that was looked up here is dead there"
    own = desk.typed([])
    assert own.returncode == 0
    assert "Left: 1 question: to check what Ada said, by another reviewer" in own.stdout
    assert desk.typed(["Another date could stand there; none does.", "yes"], by="Ben").stderr == ""

    assert desk.evaluate("judge.model=m").returncode == 0
    line = desk.line()
    assert line["denseMap"] == {"due-date-told": "pass", "house-style": "uncertain"}
    assert line["judgeIdentity"] == "Ada"
    assert [step["expected"] for step in line["expectedTrajectory"]] == WALK[1:3]
    told = {v["criterionId"]: v for v in line["verdicts"]}
    assert told["due-date-told"]["verification"]["reviewer"] == "Ben"
    assert told["house-style"]["blockedBy"]["kind"] == "normative"
    linted = desk.command("criteria", "lint", "suite.yaml", "--run", str(desk.run))
    assert "0 errors, 0 warnings" in linted.stdout, linted.stdout


def test_what_cannot_stand_is_told_before_anything_is_written(desk: Terminal) -> None:
    desk.evaluate(*ALONE, "select.criteria=due-date-told")
    first = ["2031-05-04", "2031-05-0", "x" * 201, "", "Nothing is cited.", "maybe", "pass"]
    anew = ["", "true", "", "No date is bound.", "fail", "u", "norm", "what counts as named"]
    done = desk.typed([*first, ":again", *anew])
    assert (done.returncode, done.stderr) == (0, "")
    told = " ".join(done.stdout.split())
    assert told.count("found nowhere in what is shown; copy whole words") == 1
    assert "at most 200 characters are cited (got 201)" in told
    assert "must be one of pass, fail, uncertain, na, cut" in told
    assert "pass needs evidence; :again begins anew" in told
    assert "“due date” refers to nothing here, which leaves uncertain or na" in told
    (answer,) = desk.answers()
    assert answer["bindings"] == [{"term": "due date", "ref": None}]
    assert desk.evaluate(*ALONE, "select.criteria=due-date-told").returncode == 3


def test_an_assumption_that_nothing_cited_shows_is_refused_at_once(desk: Terminal) -> None:
    desk.evaluate("judge.model=m")
    assumed = [*DUE[:-1], "The user reads dates so.", "m9"]
    done = desk.typed([*WALK, *assumed, *DUE, *STYLE])
    assert (done.returncode, done.stderr) == (0, "")
    assert "This cannot stand; once more please:\n  the litmus premise" in done.stdout
    assert desk.answers()[0]["verdicts"][0]["litmus"] == {"premise": "", "groundedBy": None}


@pytest.mark.parametrize(
    ("cell", "becomes"),
    [
        (["2031-05-04", "true", "", "It is not asked for.", "na"], "na"),
        (["2031-05-04", "", "The last result is missing.", "cut"], "uncertain"),
    ],
)
def test_a_row_that_does_not_apply_and_a_recording_that_breaks_off(
    desk: Terminal, cell: list[str], becomes: str
) -> None:
    words = (*ALONE, "select.criteria=due-date-told")
    desk.evaluate(*words)
    assert desk.typed(cell).stderr == ""
    desk.evaluate(*words)
    assert desk.waiting() == []
    assert desk.line()["denseMap"]["due-date-told"] == becomes
    assert ("truncated" in json.dumps(desk.line())) == (becomes == "uncertain")


def test_words_in_several_places_are_asked_for_by_number(desk: Terminal) -> None:
    desk.evaluate("judge.model=m", "select.criteria=due-date-told")
    done = desk.typed([*WALK, "Tides", "7", "1", "", "Why.", "unc", "fact", "A date."])
    assert "  2 [m2] text: Done: Tides is yours until 2031-05-04.\n" in done.stdout
    assert "must be one of 1, 2" in done.stdout
    assert desk.answers()[0]["verdicts"][0]["bindings"][0]["ref"]["obs"] == "m1"


def test_an_absence_is_shown_by_a_scan_of_a_complete_channel(desk: Terminal) -> None:
    words = (*ALONE[:1], "verifier=none", "select.criteria=due-date-told")
    channel = "observations[*].name"
    whole = f"subject.complete_channels=['{channel}']"
    desk.evaluate(*words, whole)
    scans = [f"scan {channel} renew", f"scan {channel} [", f"scan {channel} fine_loan"]
    done = desk.typed([*WALK, "2031-05-04", *scans, "", "No fine.", "fail", "No fine was set.", ""])
    assert (done.returncode, done.stderr) == (0, "")
    told = " ".join(done.stdout.split())
    assert "the scan found 1 matches of 1 items" in told
    assert "the scan cannot be repeated" in told
    assert desk.evaluate(*words, whole).returncode == 1
    assert desk.line()["verdicts"][0]["refs"][0]["match"] == "scan"


def test_a_question_that_is_asked_again_shows_what_was_wrong(desk: Terminal) -> None:
    desk.evaluate("judge.model=m")
    judge = desk.examples()[0]
    desk.answer(judge.replace('"2031-05-04"},', '"2031-05-05"},'))
    desk.evaluate("judge.model=m")
    done = desk.typed([*WALK, *DUE, *STYLE])
    assert "ref call-1 output.due_date: the text does not stand there" in done.stdout
    assert "Asked again; user:" in done.stdout and '"2031-05-05"' in done.stdout
    desk.evaluate("judge.model=m")
    assert [task["unit"]["kind"] for task in desk.waiting()] == ["verifier"]


def test_what_is_expected_is_asked_once_where_it_has_a_question_of_its_own(desk: Terminal) -> None:
    words = ("judge.model=m", "judge.two_pass=true", "verifier=none")
    desk.evaluate(*words)
    first = desk.typed(WALK[1:])
    assert "Done: Tides" not in first.stdout and "Please renew my loan" in first.stdout
    desk.evaluate(*words)
    second = desk.typed([WALK[0], *DUE, *STYLE])
    assert "what you expected before you saw what was done" in second.stdout
    assert "What should it do" not in second.stdout
    assert desk.evaluate(*words).returncode == 0


def test_a_question_can_be_left_and_its_beginning_typed_anew(desk: Terminal) -> None:
    desk.evaluate("judge.model=m")
    done = desk.typed([WALK[0], ":again", *WALK, ":skip"])
    assert (done.returncode, done.stderr) == (0, "")
    assert "0 questions answered by Ada; 1 question left" in done.stdout
    assert desk.answers() == []


def test_lines_that_end_too_soon_leave_the_question_as_it_was(desk: Terminal) -> None:
    desk.evaluate("judge.model=m")
    done = desk.typed([*WALK, *DUE])
    assert done.returncode == 2
    assert "standard input ended before the question was answered" in done.stderr
    assert desk.answers() == []


@pytest.mark.parametrize(
    ("words", "by", "told"),
    [
        (["elsewhere"], "Ada", "DIR must be the folder of the questions (got elsewhere)"),
        (["--trace", "loan-8"], "Ada", "did you mean 'loan-7'?"),
        ([], " ", "--by must name who judged"),
        ([], "A\nB", "--by must be one line"),
    ],
)
def test_what_cannot_begin_says_what_to_type(
    desk: Terminal, words: list[str], by: str, told: str
) -> None:
    desk.evaluate("judge.model=m")
    done = desk.typed([], *words, by=by)
    assert done.returncode == 2
    assert told in done.stderr, done.stderr


def test_a_changed_question_is_left_and_names_no_other_place_for_its_answer(
    desk: Terminal,
) -> None:
    desk.evaluate("judge.model=m")
    (place,) = desk.folder.glob("*.packet.json")
    page = place.read_text("utf-8")
    outside = desk.root / f"{place.name.partition('.')[0]}.verdict.json"
    for name in (outside.name, "run.sh", str(desk.root / "run.sh")):
        place.write_text(page.replace(json.loads(page)["answer"], name), encoding="utf-8")
        assert desk.typed([*WALK, *DUE, *STYLE]).stderr == ""
        assert not outside.exists() and not (desk.root / "run.sh").exists()
        (answered,) = desk.folder.glob("*.verdict.json")
        answered.unlink()
    place.write_text(page.replace("the due date", "the dew date"), encoding="utf-8")
    left = desk.typed([])
    assert left.returncode == 0
    assert f"{place.name} was changed" in " ".join(left.stdout.split())


def test_the_copies_in_a_run_are_answered_where_the_questions_lie(desk: Terminal) -> None:
    desk.evaluate("judge.model=m")
    suite = desk.root / "suite.yaml"
    suite.write_text(SUITE.replace("names the due date", "tells the due date"), encoding="utf-8")
    done = desk.evaluate("judge.model=m")
    copies = str(desk.run / "dispatch")
    assert f" answer {copies} --by NAME\n" in done.stdout, "the first question is of no run now"
    assert desk.typed([*WALK, *DUE, *STYLE], copies).stderr == ""
    assert len(desk.answers()) == 1
    assert list((desk.run / "dispatch").glob("*.verdict.json")) == []
    assert "nothing waits" in desk.typed([], copies).stdout


def test_an_answer_that_cannot_be_used_is_named_and_replaced(desk: Terminal) -> None:
    desk.evaluate("judge.model=m")
    place = desk.answer("{}")
    done = desk.typed([*WALK, *DUE, *STYLE])
    assert f"{place.name} cannot be used and will be replaced: the nonce" in " ".join(
        done.stdout.split()
    )
    assert desk.answers()[0]["reviewer"] == "Ada"


def test_nothing_in_a_trace_reaches_the_terminal_as_a_command(desk: Terminal) -> None:
    hostile = "Ignore it.\x1b[2J\x1b]0;owned\x07 \u202eFail\u2066 \u200b> pass"
    trace = json.loads(json.dumps(TRACE))
    trace["transcript"][0]["text"] = trace["input"]["prompt"] = hostile
    trace["observations"][0]["name"] = "renew\x1b[31m"
    (desk.root / "runs.jsonl").write_text(json.dumps(trace), encoding="utf-8")
    desk.evaluate("judge.model=m")
    done = desk.typed([*WALK, "Ignore it", *DUE[1:], *STYLE])
    assert done.returncode == 0, done.stderr
    assert not set("\x1b\x07\u202e\u2066\u200b") & set(done.stdout)
    assert "\\x1b[2J" in done.stdout and "\\u202e" in done.stdout


def test_questions_of_discover_are_left_to_their_guide(desk: Terminal) -> None:
    words = ["subject.traces=runs.jsonl", "subject.purpose=lend books", "judge=dispatch"]
    assert desk.command("discover", *words, "judge.model=m").returncode == 5
    done = desk.typed([])
    assert "Left: 1 question: of helix discover" in done.stdout
    assert "nothing waits" in done.stdout


def test_a_real_terminal_shows_each_word_once_and_takes_an_end(desk: Terminal) -> None:
    pty = pytest.importorskip("pty", reason="there are no terminals of this kind here")
    desk.evaluate(*ALONE, "select.criteria=due-date-told")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "helix", "answer", "--by", "Ada"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs) as running:
        os.close(theirs)
        shown = b""
        for prompts, line in enumerate((b"2031-05-04\n", b"\x04"), 1):
            while shown.count(b"\n> ") < prompts and select.select([ours], [], [], 60)[0]:
                shown += os.read(ours, 4096)
            os.write(ours, line)
        code = running.wait(60)
    os.close(ours)
    assert code == 130
    assert shown.count(b"> 2031-05-04") == 1
    assert desk.answers() == []
