"""The executor of many cores writes what `local` writes, whatever the input and whoever dies."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import helix
from helix.app.cli import main
from helix.audit.masking import COMPARED, masked
from helix.checks import cite
from helix.checks.custom import NoParams
from helix.demo.generator import write
from helix.engine.limits import Limits
from helix.errors import FormatError, HelixError, TraceError
from helix.evaluate import Finished, run, survey_run
from helix.ingest import Input
from helix.model.config import Config
from helix.model.trace import Trace
from helix.processes.parts import TRACES
from helix.processes.pool import AHEAD, Pool
from helix.registry import Check, CheckContext, Decision, load
from helix.runmeta import RunLog
from helix.work import Work
from tests.families import gone, watched
from tests.moments import LIMIT_S, go, hold, until
from tests.test_evaluate import SCRIPT, SCRIPTED, SUITE, asked

PROCESSES = {"name": "processes", "workers": 2}
CODE = SUITE[: SUITE.index("  - criterion_id: polite")]
CHECK = '''\
"""A check that can end the process it runs in, and prints."""
import os, signal, sys, time
from pathlib import Path
from helix.checks import Decision, check, cite

def died(mark):
    with open(mark, "a") as file:
        file.write("x")
    if "DEADLY_CHILD" in os.environ:
        if (child := os.fork()) == 0:
            time.sleep(600)
        Path("child").write_text(str(child))
    os.kill(os.getpid(), signal.SIGKILL)

beginnings = Path("beginnings")
sofar = len(beginnings.read_text()) if beginnings.exists() else 0
if "helix.processes.worker" in " ".join(sys.orig_argv):
    if sofar < int(os.environ.get("DEADLY_BEGINNINGS", "0")):
        died(beginnings)

@check("deadly")
def deadly(trace, params, context):
    print("seen", trace.id)
    mark = Path("deaths")
    wanted = os.environ.get("DEADLY", "")
    if wanted and trace.id == wanted.partition(":")[0]:
        times = int(wanted.partition(":")[2])
        if (len(mark.read_text()) if mark.exists() else 0) < times:
            died(mark)
    return Decision("pass", "it lives", (cite(trace, "output.response"),))
'''


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the demo's traces, a suite of every class of row, a judge that counts."""
    write(tmp_path / "traces.jsonl")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "code.yaml").write_text(CODE, encoding="utf-8")
    (tmp_path / "judge.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "own_checks.py").write_text(CHECK, encoding="utf-8")
    row = "    code_eval: {primitive: presence, field: output.response}\n"
    deadly = CODE.replace(row, "    code_eval: {primitive: deadly}\n")
    (tmp_path / "deadly.yaml").write_text(deadly, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    return tmp_path


def compared(run: Path) -> dict[str, bytes]:
    return {name: masked(name, (run / name).read_bytes()) for name in COMPARED}


def both(here: Path, traces: Any, suite: str, **sections: Any) -> tuple[Finished, Finished]:
    """Run the same with either executor, each with a state of its own, and compare all of it."""
    ends = []
    for name, executor in (("local", {}), ("processes", PROCESSES)):
        ends.append(
            helix.evaluate(
                traces, suite, run_dir=here / name, executor=executor,
                paths={"state": f"state-{name}"}, **sections,
            )
        )  # fmt: skip
    assert compared(here / "local") == compared(here / "processes")
    assert ends[0].exit_code == ends[1].exit_code
    return ends[0], ends[1]


def test_judged_rows_verified_and_repeated_are_those_of_local(here: Path) -> None:
    both(
        here, "traces.jsonl", "suite.yaml", judge=SCRIPTED,
        verifier={"verify": "all"}, sampling={"replicates": 2},
    )  # fmt: skip
    lines = (here / "asked").read_text(encoding="utf-8").splitlines()
    half = len(lines) // 2
    assert sorted(lines[:half]) == sorted(lines[half:]) and half > 200


@pytest.mark.slow
def test_the_demo_s_recordings_are_replayed_as_by_local(
    here: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("local", "processes"):
        ran = subprocess.run(
            [sys.executable, "-m", "helix", "evaluate", "experiment=demo", f"executor={name}",
             "subject.traces=traces.jsonl",
             f"hydra.run.dir={here / name}", f"paths.state={here / 'state'}"],
            cwd=here, capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
    assert compared(here / "local") == compared(here / "processes")


def lines_of(here: Path) -> list[bytes]:
    return (here / "traces.jsonl").read_bytes().splitlines(keepends=True)


def as_lists(here: Path) -> str:
    lines = lines_of(here)
    cut = [b"[" + b",".join(lines[at : at + 3]).replace(b"\n", b"") + b"]\n" for at in (0, 3, 6)]
    (here / "lists.jsonl").write_bytes(b"".join(cut))
    return "lists.jsonl"


def as_one_list(here: Path) -> str:
    (here / "list.json").write_bytes(b"[" + b",\n".join(lines_of(here)) + b"]")
    return "list.json"


def as_gzip(here: Path) -> str:
    (here / "t.jsonl.gz").write_bytes(gzip.compress(b"".join(lines_of(here))))
    return "t.jsonl.gz"


def as_folder(here: Path) -> str:
    (here / "many").mkdir()
    for at, line in enumerate(lines_of(here)):
        (here / "many" / f"{at}.json").write_bytes(line)
    (here / "many" / "bad.json").write_bytes(b"nonsense")
    return "many"


def with_bad_lines(here: Path) -> str:
    lines = lines_of(here)
    bad = b"\xef\xbb\xbf" + lines[0] + b"{broken\n\n" + b"".join(lines[1:])
    (here / "bad.jsonl").write_bytes(bad)
    return "bad.jsonl"


FORMS: tuple[Callable[[Path], str], ...] = (
    as_lists, as_one_list, as_gzip, as_folder, with_bad_lines,
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_whatever_form_the_traces_have_the_run_is_that_of_local(
    here: Path, form: Callable[[Path], str]
) -> None:
    done, _ = both(
        here, form(here), "suite.yaml", judge=SCRIPTED, sampling={"strategy": "random", "n": 7}
    )
    assert done.scorecard.traces.evaluated == 7


def run_in(here: Path, name: str, *typed: str, **env: str) -> subprocess.Popen[str]:
    words = ["subject.traces=traces.jsonl", "report.out=[terminal]", f"hydra.run.dir={name}"]
    words += [f"paths.state=state-{name}", "executor=processes", "executor.workers=2", *typed]
    return subprocess.Popen(
        [sys.executable, "-m", "helix", "evaluate", *words],
        cwd=here, env={**os.environ, **env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8",
    )  # fmt: skip


DEADLY = ("criteria.file=deadly.yaml", "checks.modules=[own_checks.py]")
JUDGED = ("criteria.file=suite.yaml", "judge=scripted", "judge.model=scripted-1",
          "judge.script=judge.py")  # fmt: skip


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(word) for word in children.read_text(encoding="ascii").split()]


def test_checks_of_the_project_s_own_run_in_workers_and_what_they_print_is_no_answer(
    here: Path,
) -> None:
    both(here, "traces.jsonl", "deadly.yaml", checks={"modules": ["own_checks.py"]})


def test_traces_from_standard_input_are_read_by_workers_too(here: Path) -> None:
    process = run_in(here, "piped", "subject.traces=-", "criteria.file=code.yaml")
    _, err = process.communicate(
        (here / "traces.jsonl").read_text(encoding="utf-8"), timeout=LIMIT_S
    )
    assert process.returncode in (0, 1, 3), err
    local = helix.evaluate("traces.jsonl", "code.yaml", run_dir=here / "local")
    ours, theirs = (here / "piped" / "verdicts.jsonl", here / "local" / "verdicts.jsonl")
    assert ours.read_bytes() == theirs.read_bytes()
    assert process.returncode == local.exit_code


def test_a_worker_that_dies_over_a_trace_is_followed_by_one_that_does_it(here: Path) -> None:
    ran = run_in(here, "died", *DEADLY, DEADLY="interview-01:2")
    _, err = ran.communicate(timeout=LIMIT_S)
    assert (here / "deaths").read_text(encoding="utf-8") == "xx"
    helix.evaluate(
        "traces.jsonl", "deadly.yaml", run_dir=here / "whole",
        checks={"modules": ["own_checks.py"]},
    )  # fmt: skip
    assert compared(here / "died") == compared(here / "whole"), err


@watched
def test_a_worker_that_dies_and_leaves_a_child_behind_is_missed_and_the_child_ends_too(
    here: Path,
) -> None:
    ran = run_in(here, "died", *DEADLY, DEADLY="interview-01:1", DEADLY_CHILD="1")
    _, err = ran.communicate(timeout=LIMIT_S)
    assert ran.returncode in (0, 1, 3), err
    assert gone(here / "child")


def test_a_worker_that_dies_before_it_has_begun_is_followed_by_one_that_begins(here: Path) -> None:
    ran = run_in(here, "died", *DEADLY, "executor.workers=1", DEADLY_BEGINNINGS="2")
    _, err = ran.communicate(timeout=LIMIT_S)
    assert (here / "beginnings").read_text(encoding="utf-8") == "xx"
    helix.evaluate(
        "traces.jsonl", "deadly.yaml", run_dir=here / "whole",
        checks={"modules": ["own_checks.py"]},
    )  # fmt: skip
    assert compared(here / "died") == compared(here / "whole"), err


@pytest.mark.slow
def test_where_no_worker_ever_begins_the_run_says_so_and_ends(here: Path) -> None:
    ran = run_in(here, "died", *DEADLY, "executor.workers=1", DEADLY_BEGINNINGS="99")
    _, err = ran.communicate(timeout=LIMIT_S)
    assert ran.returncode == 4
    assert "3 workers ended, one after the other, before they could begin (signal SIGKILL)" in err
    assert "use executor=local" in err
    assert (here / "beginnings").read_text(encoding="utf-8") == "xxx"


@pytest.mark.slow
def test_a_trace_that_ends_every_worker_is_told_and_all_others_have_their_line(
    here: Path,
) -> None:
    ran = run_in(here, "died", *DEADLY, DEADLY="interview-01:99")
    out, err = ran.communicate(timeout=LIMIT_S)
    assert ran.returncode == 4, out + err
    events = (here / "died" / "events.jsonl").read_text(encoding="utf-8").splitlines()
    told = [event for event in map(json.loads, events) if "error" in event]
    assert [event["trace"] for event in told] == ["interview-01"]
    assert "ended 3 times (signal SIGKILL)" in told[0]["error"]
    lines = (here / "died" / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(lines_of(here)) - 1


@pytest.mark.slow
def test_a_worker_killed_while_a_judge_is_asked_costs_no_question(here: Path) -> None:
    hold(here, 5)
    ran = run_in(here, "killed", *JUDGED, "verifier.verify=all")
    until(lambda: asked(here) >= 5, ran)
    os.kill(workers_of(ran)[0], signal.SIGKILL)
    hold(here, 20)
    until(lambda: asked(here) >= 20, ran)
    os.kill(workers_of(ran)[-1], signal.SIGKILL)
    go(here)
    out, err = ran.communicate(timeout=LIMIT_S)
    assert ran.returncode in (0, 1, 3), out + err
    died = asked(here)
    helix.evaluate(
        "traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=here / "whole",
        verifier={"verify": "all"}, paths={"state": "elsewhere"},
    )  # fmt: skip
    assert compared(here / "killed") == compared(here / "whole")
    assert asked(here) == 2 * died


@pytest.mark.slow
def test_an_interruption_ends_the_workers_and_the_same_command_goes_on(here: Path) -> None:
    hold(here, 8)
    ran = run_in(here, "cut", *JUDGED, "limits.concurrency=4")
    until(lambda: asked(here) >= 8, ran)
    workers = workers_of(ran)
    ran.send_signal(signal.SIGINT)
    go(here)
    _, err = ran.communicate(timeout=LIMIT_S)
    assert ran.returncode == 130 and "Traceback" not in err, err
    assert workers and not any(Path(f"/proc/{pid}").exists() for pid in workers)
    assert not (here / "cut" / "scorecard.json").exists()
    before = asked(here)
    again = run_in(here, "cut", *JUDGED, "limits.concurrency=4")
    _, err = again.communicate(timeout=LIMIT_S)
    assert again.returncode in (0, 1, 3), err
    once = (here / "asked").read_text(encoding="utf-8").splitlines()
    assert before >= 8 and len(once) == len(set(once))


def test_in_a_notebook_workers_run_as_they_do_elsewhere(here: Path) -> None:
    async def notebook() -> Finished:
        return helix.evaluate(
            "traces.jsonl", "code.yaml", executor=PROCESSES, run_dir=here / "note"
        )

    done = asyncio.run(notebook())
    local = helix.evaluate("traces.jsonl", "code.yaml", run_dir=here / "local")
    assert done.exit_code == local.exit_code
    assert compared(here / "note") == compared(here / "local")


def test_what_exists_in_this_process_alone_is_refused_and_not_left_out(here: Path) -> None:
    registry = load([])
    (here / "code.yaml").write_text(CODE.replace("presence, field: output.response", "mine"))

    def mine(trace: Trace, params: NoParams, context: CheckContext) -> Decision:
        return Decision("pass", "mine", (cite(trace, "output.response"),))

    registry.add("checks", Check("mine", "1", NoParams, mine), "a test")
    config = Config.model_validate(
        {"subject": {"traces": "traces.jsonl"}, "criteria": {"file": "code.yaml"},
         "executor": PROCESSES, "judge": {"backend": "none"}}
    )  # fmt: skip
    with pytest.raises(HelixError, match="'mine'"):
        run(config, run_dir=here / "run", registry=registry)


@pytest.mark.parametrize("form", [None, as_one_list], ids=["lines", "list"])
def test_traces_that_changed_since_the_survey_end_the_run(
    here: Path, form: Callable[[Path], str] | None
) -> None:
    traces = form(here) if form else "traces.jsonl"
    config = Config.model_validate(
        {"subject": {"traces": traces}, "criteria": {"file": "code.yaml"},
         "executor": PROCESSES, "judge": {"backend": "none"}}
    )  # fmt: skip
    today = datetime.date(2026, 1, 1)
    prepared, source, survey = survey_run(config, today=today)
    text = (here / traces).read_text(encoding="utf-8")
    (here / traces).write_text(text.replace("e", "a", 1).replace('"text": "', '"text": "so, '))
    (here / "run").mkdir()
    work = Work(prepared, survey, source, here / "run")
    log = RunLog(here / "run", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), None)
    with pytest.raises(TraceError, match="changed while it was being read"):
        work.carry_out(None, log)


@pytest.mark.slow
@pytest.mark.parametrize(
    "source",
    ["agentrx_tau_retail", "atif", "claude_code_sessions", "codex_rollouts", "inspect_logs",
     "langfuse_exports", "openhands", "otlp_spans", "provider_api_items", "swe_agent_traj",
     "who_and_when"],
)  # fmt: skip
def test_real_traces_of_every_shape_of_file_are_read_by_workers_as_here(
    here: Path, shared: Path, source: str
) -> None:
    seen: set[str] = set()
    files: list[str] = []
    found = Input.open(str(shared / "traces" / source), "auto", load([]))
    for path, reader in zip(found.files, found.readers(), strict=True):
        with contextlib.suppress(FormatError):
            ids = {item.id for item in reader if isinstance(item, Trace)}
            if ids and not ids & seen:
                files.append(path)
                seen |= ids
    done, _ = both(here, files, "code.yaml")
    assert done.scorecard.traces.found == len(seen)


def test_workers_wait_while_what_they_made_is_not_drawn(here: Path) -> None:
    line = json.loads(lines_of(here)[0])
    many = [json.dumps({**line, "id": f"t{at}"}) + "\n" for at in range(400)]
    (here / "many.jsonl").write_text("".join(many), encoding="utf-8")
    config = Config.model_validate(
        {"subject": {"traces": "many.jsonl"}, "criteria": {"file": "code.yaml"},
         "executor": PROCESSES, "judge": {"backend": "none"}}
    )  # fmt: skip
    prepared, source, survey = survey_run(config, today=datetime.date(2026, 1, 1))
    work = Work(prepared, survey, source, here)
    pool = Pool(work._assignment(Limits()))

    async def draw() -> tuple[int, int]:
        waiting, drawn, seen = 0, 0, -1
        async with contextlib.aclosing(pool):
            async for _ in pool:
                drawn += 1
                while drawn == 1 and len(pool._ready) != seen:
                    seen = len(pool._ready)
                    await asyncio.sleep(1)
                waiting = max(waiting, len(pool._ready))
        return waiting, drawn

    waiting, drawn = asyncio.run(draw())
    assert drawn == 400
    assert waiting <= AHEAD + 2 * TRACES


def test_a_command_that_has_no_run_to_give_away_is_carried_out_here(here: Path) -> None:
    words = ["subject.traces=traces.jsonl", "judge=none", "executor=processes"]
    assert main(["discover", *words, "hydra.run.dir=found", "discover.living=false"]) == 0
    assert (here / "found" / "discovery.json").is_file()
