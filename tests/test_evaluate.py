"""The whole line on the demo's traces: order, identity, cost, resumption, selection, exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import helix
from helix import audit, registry
from helix.demo.generator import write
from helix.dryrun import estimate
from helix.engine.limits import share_of
from helix.errors import ConfigError, SelectionError, TraceError, UsageError
from helix.evaluate import Finished, run
from helix.files import held
from helix.model.config import Config, LimitsConfig
from helix.model.manifest import ManifestEntry
from helix.model.plan import Plan
from helix.model.scorecard import Scorecard
from helix.model.tracerecord import TraceRecord
from helix.model.verdict import MatrixVerdictFile
from helix.runs import RunFiles
from tests.moments import HELD, go, hold, until

SUITE = """\
suite: small
version: 1
criteria:
  - criterion_id: answered
    statement: Pass = the run ends with a response.
    severity: HIGH
    class: code
    code_eval: {primitive: presence, field: output.response}
  - criterion_id: polite
    statement: Pass = the response is polite.
    severity: MED
    class: judge
    judge_inputs: [output.response]
  - criterion_id: brief
    statement: Pass = the response is brief.
    severity: LOW
    class: hybrid
    judge_inputs: [output.response]
    code_eval: {primitive: presence, field: output.response}
"""
SCRIPT = (
    HELD
    + """\
import json, os
from pathlib import Path

# Passes what it can cite, and counts how often it was asked.
LOG = Path(os.environ["ASKED"])

def judge(request):
    with open(LOG, "a") as log:
        log.write(request.unit.trace_id + "\\n")
    held(LOG)
    body = request.messages[1].content
    lines = body.split("\\n")
    at = lines.index("## what it ended with")
    head, text = lines[at + 1], lines[at + 2].strip()
    obs, path = head[1:].split("] ")
    ref = {"obs": obs, "path": path, "value": text[:150].rsplit(" ", 1)[0]}
    verdicts = [
        {"criterionId": c, "claim": "it says so", "critique": "read it", "litmus": {"premise": ""},
         "refs": [ref], "result": "pass", "confidence": 1}
        for c in request.unit.criteria
    ]
    return {"nonce": request.nonce, "verdicts": verdicts}
"""
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the demo's traces, a suite and a judge that counts its calls."""
    write(tmp_path / "traces.jsonl")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (tmp_path / "judge.py").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    return tmp_path


SCRIPTED = {"backend": "scripted", "model": "scripted-1", "script": "judge.py"}
TYPED = ("subject.traces=traces.jsonl", "criteria.file=suite.yaml", "judge=scripted",
         "judge.model=scripted-1", "judge.script=judge.py")  # fmt: skip


def command(*typed: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", *typed],
        capture_output=True, text=True, env={**os.environ, **env}, timeout=120, check=False,
    )  # fmt: skip


def asked(folder: Path) -> int:
    log = folder / "asked"
    return len(log.read_text(encoding="utf-8").splitlines()) if log.exists() else 0


def masked(run: Path) -> dict[str, bytes]:
    """Return the compared artifacts of a run, masked (METHOD 69)."""
    return {name: audit.masked(name, (run / name).read_bytes()) for name in audit.COMPARED}


def usage(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "scorecard.json").read_text(encoding="utf-8"))
    return dict(found["usage"])


def packets(run: Path) -> int:
    return sum(1 for line in RunFiles.open(run).lines() if line.provenance.prompt)  # type: ignore[union-attr]


def test_a_second_run_asks_nothing_and_is_byte_identical(folder: Path) -> None:
    first, second = folder / "a", folder / "b"
    one = helix.evaluate("traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=first)
    assert usage(first)["calls"] == asked(folder) == packets(first) > 40
    helix.evaluate("traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=second)
    assert (usage(second)["calls"], usage(second)["cacheHits"]) == (0, packets(second))
    assert asked(folder) == packets(first)
    assert masked(first) == masked(second)
    assert one.scorecard.usage.prompt_tokens is None, "what was not recorded is not 0"


def test_the_command_and_the_function_give_the_same_run(folder: Path) -> None:
    done = helix.evaluate("traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=folder / "api")
    ran = command(*TYPED, f"hydra.run.dir={folder / 'cli'}")
    assert ran.returncode == done.exit_code, ran.stderr
    assert masked(folder / "cli") == masked(folder / "api")


def test_killed_in_the_middle_and_started_again_it_gives_the_same(folder: Path) -> None:
    helix.evaluate(
        "traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=folder / "whole",
        paths={"state": "elsewhere"},
    )  # fmt: skip
    whole = asked(folder)
    (folder / "asked").unlink()
    typed = [*TYPED, f"hydra.run.dir={folder / 'cut'}", "limits.concurrency=4"]
    hold(folder, whole // 2)
    process = subprocess.Popen(
        [sys.executable, "-m", "helix", "evaluate", *typed],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: asked(folder) >= whole // 2, process)
    process.kill()
    process.wait()
    go(folder)
    before = asked(folder)
    assert whole // 2 <= before < whole
    assert not (folder / "cut" / "scorecard.json").exists(), "an unfinished run has no scorecard"
    again = command(*typed)
    assert again.returncode in (0, 1, 3), again.stderr
    assert masked(folder / "cut") == masked(folder / "whole")
    assert whole <= asked(folder) <= whole + 4, "only what was in flight is asked again"
    assert not list((folder / "cut").glob("*.part"))


def test_repeats_are_really_drawn_and_each_has_its_line(folder: Path) -> None:
    done = helix.evaluate(
        "traces.jsonl", "suite.yaml", judge=SCRIPTED, sampling={"replicates": 3},
        run_dir=folder / "r",
    )  # fmt: skip
    lines = list(RunFiles.open(folder / "r").lines())
    assert asked(folder) == packets(folder / "r")
    assert {line.replicate for line in lines} == {0, 1, 2}
    one = next(c for c in done.scorecard.criteria if c.criterion_id == "answered")
    assert (
        sum((one.counts.pass_, one.counts.fail, one.counts.uncertain, one.counts.na))
        == len(lines) // 3
    )
    before = asked(folder)
    helix.evaluate(
        "traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=folder / "s",
        sampling={"replicates": 1, "replicate_offset": 3},
    )  # fmt: skip
    assert asked(folder) == before + before // 3, "a new index is a new draw"


def test_every_line_keeps_its_promises(folder: Path) -> None:
    done = helix.evaluate("traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=folder / "a")
    entries = [
        json.loads(line) for line in (folder / "a" / "manifest.jsonl").read_text().splitlines()
    ]
    lines = list(RunFiles.open(folder / "a").lines())
    assert [line.trajectory_id for line in lines] == [entry["id"] for entry in entries]
    states = {"pass": 0, "fail": 0, "uncertain": 0, "na": 0}
    for line in lines:
        assert list(line.dense_map) == ["answered", "polite", "brief"]
        for verdict in line.verdicts:
            assert line.dense_map[verdict.criterion_id] == verdict.result
        for state in line.dense_map.values():
            states[state] += 1
    cells = done.scorecard.cells
    assert cells.total == len(lines) * 3 == sum(states.values())
    assert (cells.pass_, cells.fail, cells.uncertain, cells.na) == tuple(states.values())
    assert cells.code + cells.judge + cells.hybrid + cells.not_adjudicated == cells.total


def test_verdict_lines_follow_their_schema(folder: Path) -> None:
    import jsonschema_rs
    import msgspec

    helix.evaluate("traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=folder / "a")
    for name, kind in (
        ("verdicts.jsonl", MatrixVerdictFile), ("manifest.jsonl", ManifestEntry),
    ):  # fmt: skip
        validator = jsonschema_rs.validator_for(msgspec.json.schema(kind))
        for line in (folder / "a" / name).read_text(encoding="utf-8").splitlines():
            validator.validate(json.loads(line))
    card = json.loads((folder / "a" / "scorecard.json").read_text(encoding="utf-8"))
    jsonschema_rs.validator_for(msgspec.json.schema(Scorecard)).validate(card)
    plan = json.loads((folder / "a" / "plan.json").read_text(encoding="utf-8"))
    jsonschema_rs.validator_for(msgspec.json.schema(Plan)).validate(plan)
    traces = jsonschema_rs.validator_for(msgspec.json.schema(TraceRecord))
    for line in (folder / "traces.jsonl").read_text(encoding="utf-8").splitlines():
        traces.validate(json.loads(line))
    for trace in helix.evaluate("traces.jsonl", "suite.yaml").traces(frozenset(["interview-01"])):
        traces.validate(trace.to_dict())


def trace(id: str, response: str) -> str:
    said = {"role": "user", "text": "hello"}
    record = {"schemaVersion": "1.0", "id": id, "output": {"response": response}}
    return json.dumps({**record, "transcript": [said]}) + "\n"


BAD = trace("x", "fine") + '{"id": "y", "outp\n'


@pytest.mark.parametrize(
    ("traces", "typed", "code"),
    [
        (trace("x", "fine"), (), 0),
        (trace("x", ""), (), 1),
        (BAD, (), 3),
        (BAD, ("gate.exit=advisory",), 0),
        ("", (), 3),
        ("[]", (), 3),
        ("nonsense\n", (), 2),
        (trace("x", "fine"), ("criteria.file=none.yaml",), 2),
    ],
)  # fmt: skip
def test_the_command_ends_with_the_code_of_its_gate(
    tmp_path: Path, traces: str, typed: Sequence[str], code: int
) -> None:
    (tmp_path / "t.jsonl").write_text(traces, encoding="utf-8")
    code_only = SUITE[: SUITE.index("  - criterion_id: polite")]
    (tmp_path / "s.yaml").write_text(code_only, encoding="utf-8")
    ran = command(
        f"subject.traces={tmp_path / 't.jsonl'}", f"criteria.file={tmp_path / 's.yaml'}",
        f"hydra.run.dir={tmp_path / 'run'}", f"paths.state={tmp_path / 'state'}", *typed,
    )  # fmt: skip
    assert ran.returncode == code, ran.stdout + ran.stderr
    if code == 2:
        assert ran.stdout == ""
        assert "Traceback" not in ran.stderr


def test_a_bad_record_in_a_good_file_is_named_and_the_rest_runs(folder: Path) -> None:
    lines = (folder / "traces.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "traces.jsonl").write_text("\n".join([lines[0], "{broken", *lines[1:]]) + "\n")
    done = helix.evaluate("traces.jsonl", "suite.yaml", run_dir=folder / "a")
    load = done.scorecard.load
    assert (load.traces, len(load.failures)) == (len(lines), 1)
    assert (load.failures[0].file, load.failures[0].line) == ("traces.jsonl", 2)
    assert done.run_verdict != "pass"
    assert any("traces.jsonl:2" in gap for gap in done.scorecard.gate.gaps)


def test_ids_that_collide_stop_the_run_and_every_place_is_named(folder: Path) -> None:
    shutil.copy("traces.jsonl", "copy.jsonl")
    with pytest.raises(TraceError, match=r"in copy\.jsonl:1, traces\.jsonl:1"):
        helix.evaluate(["copy.jsonl", "traces.jsonl"], "suite.yaml", judge=SCRIPTED)
    assert asked(folder) == 0


@pytest.mark.parametrize(
    ("selected", "named"),
    [
        ({"criteria": ["polit"]}, "did you mean 'polite'"),
        ({"tags": ["safety"]}, "select.tags: no active row has the tag 'safety'"),
        ({"traces": ["nobody"]}, "no trace has the id 'nobody'"),
        ({"criteria": ["*ness"]}, "no active row has the id"),
    ],
)
def test_a_selector_that_matches_nothing_is_an_error(
    folder: Path, selected: Mapping[str, Any], named: str
) -> None:
    with pytest.raises(SelectionError, match=named):
        helix.evaluate("traces.jsonl", "suite.yaml", judge=SCRIPTED, select=selected)
    assert asked(folder) == 0


def test_a_section_that_does_not_exist_is_a_config_error(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"limits\.concurency: Extra inputs"):
        helix.evaluate("traces.jsonl", "suite.yaml", limits={"concurency": 2})


def test_what_was_left_out_by_hand_is_counted(folder: Path) -> None:
    done = helix.evaluate("traces.jsonl", "suite.yaml", select={"criteria": ["answ*"]})
    assert done.scorecard.skipped_criteria == ("polite", "brief")
    assert {c.criterion_id for c in done.scorecard.criteria} == {"answered"}


def test_the_failures_of_a_run_can_be_run_alone(folder: Path) -> None:
    first = helix.evaluate("traces.jsonl", "suite.yaml", judge=SCRIPTED, run_dir=folder / "a")
    undone = {
        line.trajectory_id
        for line in first.verdicts()
        if {"fail", "uncertain"} & set(line.dense_map.values())
    }
    again = helix.evaluate(
        "traces.jsonl", "suite.yaml", judge=SCRIPTED, select={"failed_from": str(folder / "a")}
    )
    assert {line.trajectory_id for line in again.lines} == undone
    assert 0 < len(undone) < first.scorecard.traces.found


def test_shards_share_the_traces_without_overlap(folder: Path) -> None:
    parts = [
        helix.evaluate("traces.jsonl", "suite.yaml", shard={"index": i, "count": 3})
        for i in range(3)
    ]
    ids = [{line.trajectory_id for line in part.lines} for part in parts]
    assert sum(map(len, ids)) == len(set.union(*ids)) == parts[0].scorecard.traces.found
    assert all(ids)


def test_shards_share_what_a_run_may_spend() -> None:
    whole = LimitsConfig(max_calls=10, max_tokens=2, max_cost_usd=3.0, rate=1.5, concurrency=4)
    parts = [share_of(whole, index, 3) for index in range(3)]
    assert [part.max_calls for part in parts] == [4, 3, 3]
    assert [part.max_tokens for part in parts] == [1, 1, 0]
    assert {(part.max_cost_usd, part.rate, part.concurrency) for part in parts} == {(1.0, 0.5, 4)}
    assert share_of(LimitsConfig(), 1, 3) == LimitsConfig()


def test_a_shard_asks_no_more_than_its_part_of_the_calls(folder: Path) -> None:
    for index in range(2):
        helix.evaluate(
            "traces.jsonl", "suite.yaml", judge=SCRIPTED, shard={"index": index, "count": 2},
            limits={"max_calls": 4, "concurrency": 1},
        )  # fmt: skip
    assert asked(folder) == 4


def test_which_cells_were_undone_before_is_part_of_the_plan(folder: Path) -> None:
    digests = []
    for name, text in (("a", trace("x", "")), ("b", trace("x", "") + trace("y", ""))):
        (folder / "t.jsonl").write_text(text, encoding="utf-8")
        chosen = {"criteria": ["answered"]}
        helix.evaluate("t.jsonl", "suite.yaml", select=chosen, run_dir=folder / name)
        again = helix.evaluate(
            "t.jsonl", "suite.yaml", select={**chosen, "failed_from": str(folder / name)}
        )
        digests.append(again.prepared.plan.digest)
    assert digests[0] != digests[1]


def test_a_waiver_for_a_trace_that_is_not_there_is_an_error(folder: Path) -> None:
    waiver = {"criterion": "answered", "by": "the owner", "reason": "known",
              "expires": "2031-01-01", "trace": "interview-1x"}  # fmt: skip
    told = "no trace has the id 'interview-1x'; did you mean 'interview-1"
    with pytest.raises(ConfigError, match=told):
        helix.evaluate("traces.jsonl", "suite.yaml", gate={"waivers": [waiver]})


def test_reports_are_written_while_the_folder_is_held(folder: Path) -> None:
    refused = []

    def then(done: Finished) -> None:
        with pytest.raises(UsageError, match="another run"), held(done.run_dir):
            pass
        refused.append(done.run_verdict)

    config = Config.model_validate(
        {
            "subject": {"traces": "traces.jsonl"},
            "criteria": {"file": "suite.yaml"},
            "judge": {"backend": "none"},
        }
    )
    done = run(config, run_dir=folder / "a", then=then)
    assert refused == [done.run_verdict]


def test_a_run_that_starts_removes_every_report_of_the_one_before(folder: Path) -> None:
    (folder / "a").mkdir()
    for name in ("report.html", "report.md", "report.json", "own.txt"):
        (folder / "a" / name).write_text("old", encoding="utf-8")
    helix.evaluate("traces.jsonl", "suite.yaml", run_dir=folder / "a")
    left = {path.name for path in (folder / "a").iterdir()}
    assert "own.txt" in left and not any(name.startswith("report.") for name in left)


def test_a_dry_run_over_recordings_says_that_nobody_is_asked(folder: Path) -> None:
    replay = {"backend": "replay", "model": "m", "dir": str(folder)}
    config = Config.model_validate(
        {
            "subject": {"traces": "traces.jsonl"},
            "criteria": {"file": "suite.yaml"},
            "judge": replay,
        }
    )
    told = estimate(config, registry.load()).text()
    assert "asks nobody live" in told and "to ask" not in told


def test_a_run_over_no_traces_that_left_no_folder_has_no_verdicts(folder: Path) -> None:
    (folder / "t.jsonl").write_text("", encoding="utf-8")
    done = helix.evaluate("t.jsonl", "suite.yaml")
    assert (done.run_verdict, list(done.verdicts())) == ("incomplete", [])


def test_samples_are_seeded(folder: Path) -> None:
    def ids(seed: int) -> list[str]:
        run = helix.evaluate(
            "traces.jsonl", "suite.yaml", sampling={"strategy": "random", "n": 10, "seed": seed}
        )
        return [line.trajectory_id for line in run.lines]

    assert ids(1) == ids(1)
    assert len(ids(1)) == 10
    assert ids(1) != ids(2)


def test_a_sweep_makes_a_run_directory_each(folder: Path) -> None:
    ran = command(
        "-m", "subject.traces=traces.jsonl", "criteria.file=suite.yaml", "sampling=random",
        "sampling.n=5", "sampling.seed=1,2,3", "judge=none", f"hydra.sweep.dir={folder / 'sweep'}",
    )  # fmt: skip
    found = sorted(path.parent for path in (folder / "sweep").rglob("scorecard.json"))
    assert len(found) == 3, ran.stderr
    assert len({(run / "manifest.jsonl").read_bytes() for run in found}) == 3


def test_a_baseline_lets_only_regressions_fail(folder: Path) -> None:
    broken = trace("old", "")
    (folder / "t.jsonl").write_text(broken, encoding="utf-8")
    code = {"criteria": ["answered"]}
    helix.evaluate("t.jsonl", "suite.yaml", select=code, run_dir=folder / "base")
    gate = {"baseline": str(folder / "base")}
    same = helix.evaluate("t.jsonl", "suite.yaml", select=code, gate=gate)
    row = same.scorecard.criteria[0]
    assert (row.result, row.gate, row.waived, row.known) == ("fail", "pass", None, 1)
    (folder / "t.jsonl").write_text(broken + trace("new", ""), encoding="utf-8")
    worse = helix.evaluate("t.jsonl", "suite.yaml", select=code, gate=gate)
    assert worse.run_verdict == "fail"


FLAPPING = """
import runpy

judge_of = runpy.run_path("judge.py")["judge"]

def judge(request):
    reply = judge_of(request)
    (verdict,) = reply["verdicts"]
    word = WORDS[request.unit.replicate]
    if word == "na":
        return {**reply, "verdicts": [], "notApplicable": [verdict]}
    return {**reply, "verdicts": [{**verdict, "result": word}]}
"""


def repeated(folder: Path, words: Sequence[str], **sections: Any) -> Finished:
    """Judge one row on one trace once for each word, which is what the judge says that time."""
    name = "-".join([*words, *sections])
    (folder / "t.jsonl").write_text(trace("x", "a polite and long response"), encoding="utf-8")
    (folder / f"{name}.py").write_text(f"WORDS = {list(words)}\n{FLAPPING}", encoding="utf-8")
    (folder / "s.yaml").write_text(SUITE.replace("severity: MED", "severity: HIGH"), "utf-8")
    return helix.evaluate(
        "t.jsonl", "s.yaml", judge={**SCRIPTED, "script": f"{name}.py"}, run_dir=folder / name,
        verifier={"verify": "none"}, sampling={"replicates": len(words)},
        select={"criteria": ["polite"]}, **sections,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "before", "now"),
    [(("fail", "fail"), "fail", "pass"), (("fail", "pass"), "incomplete", "fail")],
)
def test_what_flapped_in_the_baseline_is_not_known_to_fail(
    folder: Path, words: Sequence[str], before: str, now: str
) -> None:
    earlier = repeated(folder, words)
    assert earlier.run_verdict == before
    later = repeated(folder, ("fail", "fail"), gate={"baseline": str(earlier.run_dir)})
    assert later.run_verdict == now


@pytest.mark.parametrize(
    ("words", "failing", "undone"),
    [
        (("pass", "pass"), False, False),
        (("fail", "fail"), True, True),
        (("pass", "fail"), False, True),
        (("pass", "na"), False, True),
    ],
)
def test_a_cell_whose_repeats_disagree_is_undone_and_no_failure(
    folder: Path, words: Sequence[str], failing: bool, undone: bool
) -> None:
    run = RunFiles.open(repeated(folder, words).run_dir)
    cell = ("x", "polite")
    assert (run.failing(), run.undone()) == ((cell,) * failing, (cell,) * undone)


@pytest.mark.parametrize(
    ("expires", "verdict"), [("2031-05-01", "fail"), ("2031-05-02", "pass"), ("2031-06-01", "pass")]
)
def test_a_waiver_holds_until_its_day_and_is_shown(
    folder: Path, expires: str, verdict: str
) -> None:
    (folder / "t.jsonl").write_text(trace("a", "") + trace("b", "fine"), encoding="utf-8")
    waiver = {"criterion": "answered", "by": "the owner", "reason": "known", "expires": expires}
    done = helix.evaluate(
        "t.jsonl", "suite.yaml", select={"criteria": ["answered"]},
        gate={"waivers": [waiver], "today": "2031-05-02"},
    )  # fmt: skip
    assert done.run_verdict == verdict
    assert done.scorecard.gate.waivers[0]["expired"] is (verdict == "fail")
    waived = [["answered", ""]] if verdict == "pass" else []
    assert done.prepared.plan.decides["waived"] == waived, "the day is part of what decides"


def test_every_report_that_was_written_is_named_last(folder: Path) -> None:
    ran = command(
        "subject.traces=traces.jsonl", "criteria.file=suite.yaml", "report.out=[terminal,markdown]",
        f"report.to.json={folder / 'all.json'}", f"hydra.run.dir={folder / 'run'}", "judge=none",
    )  # fmt: skip
    named = [one for one in ran.stdout.splitlines() if one.startswith("Report: ")]
    assert named == [f"Report: {folder / 'run' / 'report.md'}", f"Report: {folder / 'all.json'}"]
    assert all(Path(one.removeprefix("Report: ")).is_file() for one in named)
