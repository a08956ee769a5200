"""The loop around a real program: two planted defects, and engineers of every kind."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helix.calibrate import Desk
from helix.errors import ArtifactError, ConfigError, ExitCode
from helix.improve import ChangeRequest, Improved
from helix.improve.response import ResponseError
from helix.model.scorecard import Ratio
from helix.registry import Case, EngineerContext, SubjectContext
from helix.registry.items import Respond
from helix.runs import RunFiles
from tests.improve import bench


def subject_bytes(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((folder / "desk").rglob("*"))
        if path.is_file()
    }


def evaluations(folder: Path) -> list[str]:
    found = (folder / "loop").glob("swing-*/repeat-*/scorecard.json")
    return sorted(str(path.parent.relative_to(folder / "loop")) for path in found)


@pytest.fixture(scope="module")
def amended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Improved]:
    """Return a folder, and the loop in it that a scripted engineer amended to its end."""
    folder = tmp_path_factory.mktemp("amended")
    bench.desk(folder)
    return folder, bench.run(folder, bench.config(folder, bench.engineer(folder, "mend")))


def test_two_planted_defects_are_amended_one_by_one_to_full_green(
    amended: tuple[Path, Improved],
) -> None:
    folder, done = amended
    assert (done.record.ending, done.exit_code) == ("full-green", ExitCode.PASS)
    first, second, third = done.record.swings
    assert first.score is not None and second.score is not None and third.score is not None
    # Before a refund nobody is asked, in every run; the amount is wrong in every other one.
    assert (first.score.flapping, first.score.agent, first.score.failing) == (2, ("lamp", "mug"), 4)
    assert (second.score.flapping, second.score.failing) == (2, 2)
    assert (first.score.accuracy, second.score.accuracy) == (None, None)
    assert (third.score.flapping, third.score.accuracy) == (0, Ratio(k=8, n=8))
    assert [put.decision for swing in done.record.swings for put in swing.asked] == ["amended"] * 2
    assert (done.record.flapping, done.record.gap) == (0, Ratio(k=0, n=1))
    assert len(evaluations(folder)) == 6
    assert RunFiles(folder / "loop" / "swing-3" / "repeat-1").scorecard().run_verdict == "pass"
    assert not (folder / "state" / "calibration").exists()


def test_a_request_can_be_acted_on_alone(amended: tuple[Path, Improved]) -> None:
    loop = amended[0] / "loop"
    folder = loop / "swing-1" / "request-1"
    request = ChangeRequest.model_validate_json((folder / "request.json").read_bytes())
    assert request.proposed_remedy.status == "hypothesis"
    kinds = {(case.case, case.criterion_id): case.kind for case in request.failing_cases}
    assert kinds["mug", "agreed-first"] == "failing"
    assert kinds["mug", "amount-right"] == "flapping"
    page = (folder / "request.md").read_text("utf-8")
    verdicts = {
        (line.trajectory_id, verdict.criterion_id): verdict
        for line in RunFiles(loop / "swing-1" / "repeat-1").lines()
        for verdict in line.verdicts
    }
    for case in request.failing_cases:
        verdict = verdicts[case.case, case.criterion_id]
        assert case.critique == verdict.critique, "verbatim"
        assert len(case.refs) == len(verdict.refs) >= 1
        assert Path(case.trace_file).is_file()
        assert case.critique in page and case.trace_file in page
    assert request.answer in page and '"decision": "rejected"' in page


def test_an_engineer_who_never_mends_stops_the_loop_by_the_streak(tmp_path: Path) -> None:
    bench.desk(tmp_path)
    done = bench.run(tmp_path, bench.config(tmp_path, bench.engineer(tmp_path, "idle")))
    assert (done.record.ending, done.exit_code) == ("streak", ExitCode.FAIL)
    assert len(done.record.swings) == 3
    assert (done.record.flapping, done.record.gap) == (2, None)


def test_the_delta_of_a_stable_subject_is_the_exact_gap(tmp_path: Path) -> None:
    bench.desk(tmp_path)
    agent = tmp_path / "desk" / "agent.py"
    steady = agent.read_text("utf-8").replace("if run % 2 else 0", "if run else 0")
    agent.write_text(steady, "utf-8")
    done = bench.run(tmp_path, bench.config(tmp_path, bench.engineer(tmp_path, "idle")))
    assert (done.record.ending, done.record.flapping) == ("streak", 0)
    assert done.record.gap == Ratio(k=1, n=1)


def test_an_amendment_that_changed_nothing_is_none_and_nothing_is_measured_again(
    tmp_path: Path,
) -> None:
    bench.desk(tmp_path)
    before = subject_bytes(tmp_path)
    done = bench.run(tmp_path, bench.config(tmp_path, bench.engineer(tmp_path, "lie")))
    assert done.record.ending == "streak"
    assert evaluations(tmp_path) == [f"swing-1/repeat-{n}" for n in (1, 2)]
    (swing,) = done.record.swings
    assert [put.unchanged for put in swing.asked] == [True, True]
    assert swing.asked[0].note is not None and "has changed" in swing.asked[0].note
    assert subject_bytes(tmp_path) == before, "Helix writes nothing into the subject"


def rejecting(context: EngineerContext) -> bytes:
    request = {"request": "swing-1-request-1", "decision": "rejected", "note": "no"}
    return json.dumps(request).encode()


def without_folder(context: EngineerContext) -> bytes:
    shutil.rmtree(context.request.parent)
    return rejecting(context)


def without_log(context: EngineerContext) -> bytes:
    (context.request.parents[2] / "swings.jsonl").unlink()
    return rejecting(context)


@pytest.mark.parametrize(
    ("amend", "told"),
    [(without_folder, "request-1 must stay while"), (without_log, "swings.jsonl must stay while")],
)
def test_an_engineer_who_removes_what_the_loop_keeps_is_told(
    tmp_path: Path, amend: Respond, told: str
) -> None:
    bench.desk(tmp_path)
    settings = bench.config(tmp_path, {"engineer": "toy"})
    registry = bench.registry_with(lambda case, context: {}, amend)
    with pytest.raises(ArtifactError, match=told):
        bench.run(tmp_path, settings, registry_of=registry)


def test_a_request_that_somebody_edits_or_removes_is_answered_under_its_own_id(
    tmp_path: Path,
) -> None:
    bench.desk(tmp_path)
    settings = bench.config(tmp_path, {"engineer": "human"})
    bench.run(tmp_path, settings)
    where = tmp_path / "loop" / "swing-1" / "request-1" / "request.json"
    answer = where.with_name("response.json")
    where.write_text('{"id": "another"}', "utf-8")
    answer.write_text('{"request": "another", "decision": "rejected", "note": "x"}', "utf-8")
    with pytest.raises(ResponseError, match="request must be 'swing-1-request-1'"):
        bench.run(tmp_path, settings)
    answer.write_bytes(rejecting(EngineerContext(settings.improve, where, answer)))
    assert bench.run(tmp_path, settings).record.swings[0].asked[0].decision == "rejected"
    (where.parents[1] / "request-2" / "request.json").unlink()
    with pytest.raises(ArtifactError, match="must hold swing-1-request-2"):
        bench.run(tmp_path, settings)


def test_a_rejection_retargets_then_escalates_and_nothing_is_measured_again(
    tmp_path: Path,
) -> None:
    bench.desk(tmp_path)
    settings = bench.config(tmp_path, bench.engineer(tmp_path, "refuse"))
    done = bench.run(tmp_path, settings)
    assert (done.record.ending, done.exit_code) == ("rejected", ExitCode.FAIL)
    assert evaluations(tmp_path) == [f"swing-1/repeat-{n}" for n in (1, 2)]
    (swing,) = done.record.swings
    assert [(put.target, put.decision) for put in swing.asked] == [
        ("agentspec", "rejected"),
        ("impl", "rejected"),
    ]
    second = tmp_path / "loop" / "swing-1" / "request-2" / "request.json"
    rejected = ChangeRequest.model_validate_json(second.read_bytes()).rejected
    assert [earlier.note for earlier in rejected] == ["not a matter of the agentspec"]
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "loop").glob("swing-*/**/*")}
    again = bench.run(tmp_path, settings)
    assert again.record.ending == "rejected"
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_subject_that_somebody_mends_after_all_is_measured_anew(tmp_path: Path) -> None:
    bench.desk(tmp_path)
    settings = bench.config(tmp_path, bench.engineer(tmp_path, "refuse"))
    assert bench.run(tmp_path, settings).record.ending == "rejected"
    for file, before, after in (
        ("rules.txt", "refund: no", "refund: yes"),
        ("agent.py", ' + (int(order["shipping"]) if run % 2 else 0)', ""),
    ):
        path = tmp_path / "desk" / file
        path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")
    assert bench.run(tmp_path, settings).record.ending == "full-green"
    assert [step["swing"] for step in bench.steps(tmp_path, "changed")] == [1]


def test_a_case_whose_program_fails_is_incomplete_and_no_failure(tmp_path: Path) -> None:
    here = bench.desk(tmp_path)
    (here / "cases.jsonl").write_text('{"id": "broken"}\n', "utf-8")
    settings = bench.config(tmp_path, bench.engineer(tmp_path, "mend"))
    done = bench.run(tmp_path, settings)
    assert (done.record.ending, done.exit_code) == ("undecided", ExitCode.INCOMPLETE)
    (swing,) = done.record.swings
    assert swing.asked == () and swing.score is not None
    assert swing.score.under_sampled == ("broken",)
    assert "KeyError" in swing.score.lost[0].reason
    # The same command runs again what has no trace yet.
    good = '{"id": "broken", "order": "A-1", "price": 1, "shipping": 1, "request": "x"}\n'
    with pytest.raises(ConfigError, match=r"improve\.id=NAME"):
        (here / "cases.jsonl").write_text(good, "utf-8")
        bench.run(tmp_path, settings)


def mended(case: Case, context: SubjectContext) -> dict[str, Any]:
    """Be an agent that does all right, and records something new each time."""
    return {
        "id": case.id,
        "input": {"prompt": "mug"},
        "output": {"response": f"run {context.swing}.{context.repeat} went well"},
        "observations": [],
    }


def test_the_same_command_goes_on_after_an_interruption_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    here = bench.desk(tmp_path)
    (here / "suite.yaml").write_text(PRESENCE, "utf-8")
    ran: list[int] = []

    def agent(case: Case, context: SubjectContext) -> dict[str, Any]:
        ran.append(context.repeat)
        if len(ran) == 4:
            raise KeyboardInterrupt
        return mended(case, context)

    settings = bench.config(tmp_path, {"subject": "toy", "engineer": "human", "repeats": 3})
    with pytest.raises(KeyboardInterrupt):
        bench.run(tmp_path, settings, registry_of=bench.registry_with(agent))
    stamp = (tmp_path / "loop/swing-1/repeat-1/scorecard.json").stat().st_mtime_ns
    with open(tmp_path / "loop" / "swings.jsonl", "ab") as log:
        log.write(b'{"step": "evalu')
    done = bench.run(tmp_path, settings, registry_of=bench.registry_with(agent))
    assert done.record.ending == "full-green"
    # Two cases each: the second of repeat 2 was interrupted, and alone is run again.
    assert ran == [1, 1, 2, 2, 2, 3, 3]
    assert (tmp_path / "loop/swing-1/repeat-1/scorecard.json").stat().st_mtime_ns == stamp
    assert [s["repeat"] for s in bench.steps(tmp_path, "evaluated")] == [1, 2, 3]
    assert [s["step"] for s in bench.steps(tmp_path)].count("began") == 1


PRESENCE = """\
suite: toy
version: 1
criteria:
  - criterion_id: answered
    statement: Pass = the run ends with a response.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
"""


def test_the_clock_stops_the_loop_between_repeats_but_never_a_success(tmp_path: Path) -> None:
    here = bench.desk(tmp_path)
    (here / "suite.yaml").write_text(PRESENCE, "utf-8")
    settings = bench.config(
        tmp_path, {"subject": "toy", "engineer": "human", "max_minutes": 1, "repeats": 2}
    )
    registry_of = bench.registry_with(mended)
    slow = iter(range(0, 10_000, 40))
    stopped = bench.run(tmp_path, settings, registry_of=registry_of, clock=lambda: next(slow))
    assert (stopped.record.ending, stopped.exit_code) == ("clock", ExitCode.FAIL)
    assert (stopped.record.flapping, stopped.record.gap) == (None, None)
    more = bench.config(
        tmp_path, {"subject": "toy", "engineer": "human", "max_minutes": 60, "repeats": 2}
    )
    done = bench.run(tmp_path, more, registry_of=registry_of)
    assert done.record.ending == "full-green"
    assert done.record.elapsed_s > 60, "the seconds of all calls are counted"
    late = bench.run(tmp_path, settings, registry_of=registry_of)
    assert late.record.ending == "full-green", "what is known is green, however late it is"


def test_people_record_traces_and_write_the_response(tmp_path: Path) -> None:
    here = bench.desk(tmp_path)
    (here / "suite.yaml").write_text(PRESENCE, "utf-8")
    own = {"subject": "human", "engineer": "human", "subject_files": [], "repeats": 1}
    settings = bench.config(tmp_path, own, subject={"name": "desk", "version": "v1"})
    told: list[str] = []
    waits = bench.run(tmp_path, settings, tell=told.append)
    assert "improve.repeats=1 measures no variance" in told[0]
    assert (waits.record.ending, waits.exit_code) == ("traces", ExitCode.WAITING)
    assert "mug, lamp" in waits.told[0] and "cases.jsonl" in waits.told[0]
    swing = tmp_path / "loop" / "swing-1"
    assert (swing / "aside" / "cases.jsonl").read_text("utf-8").count("\n") == 2
    record(swing, mug="well", lamp="")
    waits = bench.run(tmp_path, settings)
    assert (waits.record.ending, waits.exit_code) == ("response", ExitCode.WAITING)
    answer = swing / "request-1" / "response.json"
    for wrong, told in (
        ({"request": "swing-1-request-1", "decision": "rejected"}, "note must say why"),
        ({"request": "swing-9-request-1", "decision": "amended"}, "answers another request"),
        ({"request": "swing-1-request-1", "decision": "maybe"}, "decision"),
    ):
        answer.write_text(json.dumps(wrong), "utf-8")
        with pytest.raises(Exception, match=told) as caught:
            bench.run(tmp_path, settings)
        assert str(answer) in str(caught.value)
    respond(answer, subjectVersion="v1")
    assert bench.run(tmp_path, settings).record.ending == "response", "v1 is what was measured"
    respond(swing / "request-2" / "response.json", subjectVersion="v2")
    assert bench.run(tmp_path, settings).record.ending == "traces"
    record(tmp_path / "loop" / "swing-2", mug="well", lamp="well")
    done = bench.run(tmp_path, settings)
    assert (done.record.ending, len(done.record.swings)) == ("full-green", 2)
    assert RunFiles(tmp_path / "loop/swing-2/repeat-1").plan().decides["subject"]["version"] == "v2"


def test_files_that_are_watched_only_later_make_no_amendment(tmp_path: Path) -> None:
    (bench.desk(tmp_path) / "suite.yaml").write_text(PRESENCE, "utf-8")
    own = {"subject": "human", "engineer": "human", "subject_files": [], "repeats": 1}
    settings = bench.config(tmp_path, own)
    bench.run(tmp_path, settings)
    record(tmp_path / "loop" / "swing-1", mug="well", lamp="")
    assert bench.run(tmp_path, settings).record.ending == "response"
    respond(tmp_path / "loop" / "swing-1" / "request-1" / "response.json")
    watched = bench.config(tmp_path, {**own, "subject_files": [str(tmp_path / "desk" / "*.py")]})
    with pytest.raises(ConfigError, match="holds a loop of other cases, another suite or other"):
        bench.run(tmp_path, watched)


def record(swing: Path, **said: str) -> None:
    folder = swing / "traces" / "repeat-1"
    for case, text in said.items():
        trace: dict[str, Any] = {"id": case, "input": {"prompt": "x"}, "output": {"response": text}}
        trace["observations"] = [{"id": "o0", "type": "TOOL", "name": "find_order", "output": {}}]
        (folder / f"{case}.json").write_text(json.dumps(trace), "utf-8")


def respond(answer: Path, **more: str) -> None:
    number = answer.parent.name.rpartition("-")[2]
    said = {"request": f"swing-1-request-{number}", "decision": "amended", **more}
    answer.write_text(json.dumps(said), "utf-8")


JUDGED = """\
suite: toy
version: 1
criteria:
  - criterion_id: polite
    statement: Pass = the response is polite.
    severity: HIGH
    class: judge
    judge_inputs: [output.response]
"""
JUDGE = '''\
"""A judge that says of each trace what the trace's last word is, and flips where it is told to."""

def judge(request):
    body = request.messages[1].content
    lines = body.split("\\n")
    at = lines.index("## what it ended with")
    head, text = lines[at + 1], lines[at + 2].strip()
    obs, path = head[1:].split("] ")
    word = text.split()[-1]
    if word == "coin":
        word = "pass" if request.unit.replicate % 2 else "fail"
    ref = {"obs": obs, "path": path, "value": text}
    verdict = {"criterionId": "polite", "claim": "it says so", "critique": "read the end of it",
               "litmus": {"premise": ""}, "refs": [ref], "result": word, "confidence": 1}
    return {"nonce": request.nonce, "verdicts": [verdict]}
'''


def judged(tmp_path: Path, own: dict[str, Any]) -> Any:
    here = bench.desk(tmp_path)
    (here / "suite.yaml").write_text(JUDGED, "utf-8")
    (here / "judge.py").write_text(JUDGE, "utf-8")
    return bench.config(
        tmp_path,
        {"subject": "toy", "engineer": "toy", "subject_files": [], "cases": ["mug"], **own},
        judge={"backend": "scripted", "model": "toy-1", "script": str(here / "judge.py")},
        verifier={"backend": "none"},
    )


def nobody(context: EngineerContext) -> bytes | None:
    raise AssertionError("a flapping judge was turned into a request")


@pytest.mark.parametrize("dated", [False, True])
def test_a_flapping_judge_goes_to_calibration_and_to_no_engineer(
    tmp_path: Path, dated: bool
) -> None:
    settings = judged(tmp_path, {})

    def agent(case: Case, context: SubjectContext) -> dict[str, Any]:
        # With a date each run's trace is a new one, so that only judging it again can tell.
        said = f"at {context.repeat}: coin" if dated else "coin"
        return {**mended(case, context), "output": {"response": f"This is the reply, {said}"}}

    done = bench.run(tmp_path, settings, registry_of=bench.registry_with(agent, nobody))
    assert (done.record.ending, done.exit_code) == ("undecided", ExitCode.INCOMPLETE)
    (swing,) = done.record.swings
    assert swing.score is not None
    assert (swing.score.judge, swing.score.agent, swing.score.accuracy) == (("mug",), (), None)
    assert (swing.asked, swing.calibrated) == ((), ("polite",))
    assert len(list((tmp_path / "loop" / "swing-1").glob("again-*"))) == (2 if dated else 0)
    (entry,) = Desk.open(tmp_path / "state").log
    assert (entry.action, entry.criterion_id, entry.kinds) == ("found", "polite", ("scope",))
    bench.run(tmp_path, settings, registry_of=bench.registry_with(agent, nobody))
    assert len(Desk.open(tmp_path / "state").log) == 1, "what is known is not told again"


def test_accuracy_is_measured_once_the_judge_no_longer_flips(tmp_path: Path) -> None:
    settings = judged(tmp_path, {})

    def agent(case: Case, context: SubjectContext) -> dict[str, Any]:
        return {**mended(case, context), "output": {"response": "This is the reply, coin"}}

    registry_of = bench.registry_with(agent, nobody)
    flips = bench.run(tmp_path, settings, registry_of=registry_of).record.swings[-1].score
    assert flips is not None and (flips.flapping, flips.accuracy) == (1, None)
    judge = tmp_path / "desk" / "judge.py"
    judge.write_text(judge.read_text("utf-8").replace('else "fail"', 'else "pass"'), "utf-8")
    other = settings.judge.model_copy(update={"model": "toy-2"})
    another = settings.model_copy(update={"judge": other})
    with pytest.raises(ConfigError, match="another one with"):
        bench.run(tmp_path, another, registry_of=registry_of)
    done = bench.run(tmp_path, another, "second", registry_of=registry_of)
    assert (done.record.ending, done.record.gap) == ("full-green", Ratio(k=0, n=1))


def test_an_agent_that_varies_under_a_steady_judge_is_requested(tmp_path: Path) -> None:
    settings = judged(tmp_path, {})
    fixed: list[str] = []

    def agent(case: Case, context: SubjectContext) -> dict[str, Any]:
        word = "fail" if context.repeat == 2 and not fixed else "pass"
        said = f"This is reply {context.repeat}: {word}"
        return {**mended(case, context), "output": {"response": said}}

    def amend(context: EngineerContext) -> bytes:
        request = ChangeRequest.model_validate_json(context.request.read_bytes())
        assert [case.kind for case in request.failing_cases] == ["flapping"]
        assert (request.failing_cases[0].bad, request.failing_cases[0].runs) == (1, 2)
        fixed.append(request.id)
        said = {"request": request.id, "decision": "amended", "subjectVersion": "v2"}
        return json.dumps(said).encode()

    done = bench.run(tmp_path, settings, registry_of=bench.registry_with(agent, amend))
    assert done.record.ending == "full-green"
    first, second = done.record.swings
    assert first.score is not None and first.score.agent == ("mug",)
    assert second.score is not None and second.score.accuracy == Ratio(k=2, n=2)
    assert len(bench.steps(tmp_path, "told-apart")) == 1


def test_a_row_that_nobody_judges_never_lets_a_loop_end_green(tmp_path: Path) -> None:
    suite = bench.desk(tmp_path) / "suite.yaml"
    judged_too = (
        "  - criterion_id: polite\n    statement: Pass = the response is polite.\n"
        "    severity: CRIT\n    class: judge\n    judge_inputs: [output.response]\n"
    )
    suite.write_text(suite.read_text("utf-8") + judged_too, "utf-8")
    done = bench.run(tmp_path, bench.config(tmp_path, bench.engineer(tmp_path, "mend")))
    assert (done.record.ending, done.exit_code) == ("undecided", ExitCode.INCOMPLETE)
    last = done.record.swings[-1].score
    assert last is not None and (last.failing, last.accuracy, last.gap) == (0, None, None)
    assert last.under_sampled == ("mug", "lamp")


def test_a_judge_that_cannot_be_reached_leaves_the_loop_incomplete(tmp_path: Path) -> None:
    settings = judged(tmp_path, {})
    (tmp_path / "desk" / "judge.py").write_text(
        "from helix.model.request import Unavailable\n\n\ndef judge(request):\n"
        "    raise Unavailable('the line is down')\n",
        "utf-8",
    )

    def agent(case: Case, context: SubjectContext) -> dict[str, Any]:
        return {**mended(case, context), "output": {"response": "This is the reply: pass"}}

    registry_of = bench.registry_with(agent, nobody)
    done = bench.run(tmp_path, settings, registry_of=registry_of)
    assert (done.record.ending, done.exit_code) == ("undecided", ExitCode.INCOMPLETE)
    (swing,) = done.record.swings
    assert swing.score is not None and swing.calibrated == ()
    assert (swing.score.under_sampled, len(swing.score.lost)) == (("mug",), 2)
    (tmp_path / "desk" / "judge.py").write_text(JUDGE, "utf-8")
    assert bench.run(tmp_path, settings, registry_of=registry_of).record.ending == "full-green"


def test_wherever_a_loop_was_cut_off_it_comes_to_the_same_end(tmp_path: Path) -> None:
    here = bench.desk(tmp_path)
    (here / "suite.yaml").write_text(PRESENCE, "utf-8")
    own = {"subject": "toy", "engineer": "toy", "subject_files": [], "repeats": 2}
    settings = bench.config(tmp_path, {**own, "cases": ["mug"]})

    def agent(case: Case, context: SubjectContext) -> dict[str, Any]:
        said = "" if context.swing == 1 else "well"
        call = {"id": "o0", "type": "TOOL", "name": "find_order", "output": {}}
        made = mended(case, context)
        return {**made, "output": {"response": said}, "observations": [call]}

    def amend(context: EngineerContext) -> bytes:
        request = ChangeRequest.model_validate_json(context.request.read_bytes())
        if request.remedy_target == "agentspec":
            said = {"request": request.id, "decision": "rejected", "note": "it says so already"}
        else:
            said = {"request": request.id, "decision": "amended", "subjectVersion": "v2"}
        return json.dumps(said).encode()

    registry_of = bench.registry_with(agent, amend)
    whole = bench.run(tmp_path, settings, registry_of=registry_of).record
    assert (whole.ending, len(whole.swings)) == ("full-green", 2)
    log = tmp_path / "loop" / "swings.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    names = [step["step"] for step in bench.steps(tmp_path)]
    assert names == [
        "began", "evaluated", "evaluated", "scored", "requested", "answered", "requested",
        "answered", "evaluated", "evaluated", "scored", "ended",
    ]  # fmt: skip
    for kept in range(len(lines)):
        log.write_bytes(b"".join(lines[:kept]) + lines[kept][: len(lines[kept]) // 2])
        again = bench.run(tmp_path, settings, registry_of=registry_of).record
        assert (again.ending, again.flapping, again.gap) == ("full-green", 0, whole.gap)
        assert again.swings == whole.swings, f"after {kept} lines"
        assert [step["step"] for step in bench.steps(tmp_path)] == names


def test_a_damaged_log_is_refused_by_its_line(tmp_path: Path) -> None:
    bench.desk(tmp_path)
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "swings.jsonl").write_text('{"step": "danced"}\n', "utf-8")
    with pytest.raises(ArtifactError, match=r"swings\.jsonl:1 is damaged"):
        bench.run(tmp_path, bench.config(tmp_path, bench.engineer(tmp_path, "mend")))


def test_variance_that_is_allowed_is_told_apart_before_anything_is_asked(tmp_path: Path) -> None:
    settings = judged(tmp_path, {"max_variance": 1.0})

    def agent(case: Case, context: SubjectContext) -> dict[str, Any]:
        said = f"This is reply {context.repeat}, coin"
        return {**mended(case, context), "output": {"response": said}}

    done = bench.run(tmp_path, settings, registry_of=bench.registry_with(agent, nobody))
    assert (done.record.ending, done.record.flapping) == ("undecided", 0)
    (swing,) = done.record.swings
    assert swing.score is not None and swing.calibrated == ("polite",)
    # Each run's trace was judged twice with two results, so neither run counts as a pass.
    assert swing.score.accuracy == Ratio(k=0, n=2)
