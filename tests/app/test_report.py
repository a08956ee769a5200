"""`helix report RUN` and `helix report compare A B` on runs of the real command."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from helix.app.cli import main

FORMATS = "report.out=[terminal,html,json,markdown,junit,github,sarif,csv,otel]"
ROWS = {
    "answered": {"primitive": "presence", "field": "output.response"},
    "greets": {
        "primitive": "format-validity",
        "field": "output.response",
        "pattern": "(?s).*Hello.*",
    },
}
QUOTED = r"\"critique\": \""
Captured = pytest.CaptureFixture[str]


def typed(capsys: Captured, *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    return code, out, err


def suite(path: Path, *names: str, **changed: dict[str, str]) -> Path:
    """Write a suite of code rows; JSON is YAML."""
    rows = [
        {
            "criterion_id": name,
            "statement": f"Pass = the answer {name}.",
            "severity": "HIGH",
            "class": "code",
            "code_eval": {**ROWS[name], **changed.get(name, {})},
        }
        for name in names
    ]
    whole = {"suite": "desk", "version": 1, "criteria": rows}
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def traces(path: Path, **responses: str) -> Path:
    """Write one trace per response."""
    path.write_text(
        "".join(
            json.dumps(
                {
                    "schemaVersion": "1.0",
                    "id": name,
                    "input": {"prompt": "Say hello."},
                    "output": {"response": response},
                    "observations": [],
                    "transcript": [{"id": "m1", "role": "assistant", "text": response}],
                }
            )
            + "\n"
            for name, response in responses.items()
        ),
        encoding="utf-8",
    )
    return path


def evaluated(folder: Path, name: str, found: Path, criteria: Path, *words: str) -> str:
    run = folder / name
    main(
        [
            "evaluate",
            f"subject.traces={found}",
            f"criteria.file={criteria}",
            "judge=none",
            f"paths.state={folder / 'state'}",
            f"hydra.run.dir={run}",
            *words,
        ]
    )
    return str(run)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of the demo, every report of it, and its traces."""
    folder = tmp_path_factory.mktemp("demo")
    state, run = f"paths.state={folder / 'state'}", f"hydra.run.dir={folder / 'run'}"
    main(["evaluate", "experiment=demo", state, run, FORMATS])
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def test_every_report_of_a_run_is_made_again_byte_for_byte(demo: Path, capsys: Captured) -> None:
    before = contents(demo / "run")
    for name in ("report.html", "report.json", "junit.xml", "cells.csv", "report.sarif"):
        (demo / "run" / name).unlink()
    code, out, err = typed(capsys, "report", str(demo / "run"), FORMATS)
    assert (code, err) == (0, "")
    assert contents(demo / "run") == before
    assert typed(capsys, "report", str(demo / "run")) == (0, out, "")


def test_the_terminal_says_what_the_run_said(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = traces(tmp_path / "t.jsonl", a="Hello!", b="Go away.")
    run = evaluated(tmp_path, "run", found, suite(tmp_path / "s.yaml", *ROWS))
    said = capsys.readouterr().out
    assert "Rerun the failures: " in said and "report.html" in said
    assert typed(capsys, "report", run) == (0, said, "")


def test_json_is_the_json_report_on_standard_output(demo: Path, capsys: Captured) -> None:
    code, out, _ = typed(capsys, "report", str(demo / "run"), "--json")
    assert code == 0
    assert out.encode() == (demo / "run" / "report.json").read_bytes()


def test_a_report_goes_to_the_path_that_is_named(
    demo: Path, tmp_path: Path, capsys: Captured
) -> None:
    file = tmp_path / "deep" / "tests.xml"
    assert typed(capsys, "report", str(demo / "run"), "--to", f"junit={file}") == (0, "", "")
    assert file.read_bytes() == (demo / "run" / "junit.xml").read_bytes()


def test_traces_that_are_missing_or_changed_are_told_and_not_shown(
    tmp_path: Path, capsys: Captured
) -> None:
    found = traces(tmp_path / "t.jsonl", a="Hello kept!", b="Hello before!", c="Hello lost!")
    run = evaluated(tmp_path, "run", found, suite(tmp_path / "s.yaml", *ROWS))
    traces(found, a="Hello kept!", b="Hello forged!")
    capsys.readouterr()
    page = tmp_path / "page.html"
    code, out, err = typed(capsys, "report", run, "--to", f"html={page}")
    shown = page.read_text(encoding="utf-8")
    assert (code, out) == (0, "")
    assert "1 trace is missing and not shown: c" in err
    assert "1 trace has changed since and not shown: b" in err
    assert "Hello kept!" in shown and "the trace has changed since it was evaluated" in shown
    assert "Hello forged!" not in shown


def test_traces_that_moved_are_read_where_traces_says(tmp_path: Path, capsys: Captured) -> None:
    found = traces(tmp_path / "t.jsonl", a="Hello!")
    run = evaluated(tmp_path, "run", found, suite(tmp_path / "s.yaml", *ROWS))
    before = Path(run, "report.html").read_bytes()
    moved = found.rename(tmp_path / "moved.jsonl")
    capsys.readouterr()
    code, _, err = typed(capsys, "report", run, "report.out=[html]")
    assert code == 0 and "--traces PATH" in err
    assert Path(run, "report.html").read_bytes() != before
    words = ["report", run, "report.out=[html]", "--traces", str(moved)]
    assert typed(capsys, *words) == (0, "", "")
    assert Path(run, "report.html").read_bytes() == before


def test_a_page_that_does_not_list_every_trace_is_told_on_the_terminal(
    tmp_path: Path, capsys: Captured
) -> None:
    found = traces(tmp_path / "t.jsonl", a="Hello!", b="Go away.")
    run = evaluated(tmp_path, "run", found, suite(tmp_path / "s.yaml", *ROWS))
    capsys.readouterr()
    told = "the page counts all 2 traces and lists the 1 worst; with report.worst=null it lists all"
    words = ["report", run, "report.out=[html]"]
    assert typed(capsys, *words, "report.worst=1") == (0, "", f"helix: {told}\n")
    page = Path(run, "report.html").read_text(encoding="utf-8")
    assert "hold the 1 worst trace;" in page
    for number in ("2", "null"):
        assert typed(capsys, *words, f"report.worst={number}") == (0, "", "")
    assert typed(capsys, "report", run, "report.out=[csv]", "report.worst=1") == (0, "", "")


def test_a_suite_that_changed_is_told_and_its_words_are_left_out(
    tmp_path: Path, capsys: Captured
) -> None:
    found = traces(tmp_path / "t.jsonl", a="Hello!")
    run = evaluated(tmp_path, "run", found, suite(tmp_path / "s.yaml", *ROWS))
    assert b"Pass = the answer greets." in Path(run, "report.html").read_bytes()
    suite(tmp_path / "s.yaml", *ROWS, greets={"pattern": "Hi"})
    capsys.readouterr()
    code, _, err = typed(capsys, "report", run, "report.out=[html]")
    assert code == 0 and "s.yaml has changed since" in err
    assert b"Pass = the answer greets." not in Path(run, "report.html").read_bytes()


def test_a_run_that_did_not_finish_says_what_goes_on_with_it(
    demo: Path, tmp_path: Path, capsys: Captured
) -> None:
    run = tmp_path / "half"
    shutil.copytree(demo / "run", run)
    (run / "scorecard.json").unlink()
    for words in (["report", str(run)], ["report", "compare", str(demo / "run"), str(run)]):
        code, out, err = typed(capsys, *words)
        assert (code, out) == (2, "")
        assert "did not finish" in err
        assert f"hydra.run.dir={run}" in err and "helix evaluate subject.traces=" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["nowhere"], "nowhere must be the folder of a run"),
        (["merge", "a", "b", "--out", "c"], "a must be the folder of a run"),
        (["serve", "a"], "a must be the folder of a run"),
        (["RUN", "judge=none"], "takes report.out=, report.to.NAME= and checks.modules= (got"),
        (["RUN", "report.out=[htlm]"], "did you mean 'html'?"),
        (["RUN", "--to", "junit"], "--to must be NAME=PATH (got junit)"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(
    words: list[str], told: str, demo: Path, capsys: Captured
) -> None:
    words = [str(demo / "run") if word == "RUN" else word for word in words]
    code, out, err = typed(capsys, "report", *words)
    assert (code, out) == (2, "")
    assert told in err
    assert not Path("nowhere").exists()


def test_a_discovery_is_shown_again_byte_for_byte(tmp_path: Path, capsys: Captured) -> None:
    wanted = "report.out=[terminal,html,json,markdown]"
    state, run = f"paths.state={tmp_path / 'state'}", tmp_path / "found"
    main(["discover", "subject=outreach", wanted, state, f"hydra.run.dir={run}"])
    said, before = capsys.readouterr().out, contents(run)
    assert typed(capsys, "report", str(run)) == (0, said, "")
    assert typed(capsys, "report", str(run), wanted) == (0, said, "")
    assert contents(run) == before
    (tmp_path / "state" / "demo" / "outreach.jsonl").unlink()
    code, _, err = typed(capsys, "report", str(run), "report.out=[html]")
    assert code == 0 and "traces are missing and not shown" in err


def compared(capsys: Captured, *runs: str) -> dict[str, Any]:
    capsys.readouterr()
    code, out, err = typed(capsys, "report", "compare", *runs, "--json")
    assert err == ""
    return {"exit": code, **json.loads(out)}


def test_a_run_compared_with_itself_is_equal_and_its_p_undefined(
    demo: Path, capsys: Captured
) -> None:
    run = str(demo / "run")
    found = compared(capsys, run, run)
    assert (found["exit"], found["equal"], found["cells"]) == (0, True, [])
    assert found["counts"]["same"] == 1224
    assert found["overall"]["exactP"] is None
    assert found["overall"]["difference"] == 0
    code, out, _ = typed(capsys, "report", "compare", run, run)
    assert code == 0 and "Both were planned alike." in out and "p undefined" in out
    assert out.endswith("NOTHING GOT WORSE\n")


def test_broken_and_fixed_cells_are_told_with_what_selects_them(
    tmp_path: Path, capsys: Captured
) -> None:
    criteria = suite(tmp_path / "s.yaml", *ROWS)
    first = traces(tmp_path / "1.jsonl", a="Hello!", b="Hello!", c="Go.", d="Hello!", e="Hello!")
    later = traces(tmp_path / "2.jsonl", a="Go.", b="Go.", c="Hello!", d="Hello!", f="Hello!")
    runs = [evaluated(tmp_path, f"{t.stem}", t, criteria) for t in (first, later)]
    found = compared(capsys, *runs)
    assert found["exit"] == 1 and found["worse"] == 2
    assert found["plan"] == []
    changes = {(c["trace"], c["criterionId"]): c["change"] for c in found["cells"]}
    assert changes["a", "greets"] == changes["b", "greets"] == "broken"
    assert changes["c", "greets"] == "fixed"
    assert found["traces"] == {
        "both": 4, "added": ["f"], "removed": ["e"], "changed": ["a", "b", "c"]
    }  # fmt: skip
    rows = {row["criterionId"]: row["paired"] for row in found["criteria"]}
    assert (rows["greets"]["pairs"], rows["greets"]["exactP"]) == (4, 1.0)
    assert rows["greets"]["difference"] == -0.25
    low, high = rows["greets"]["interval"]
    assert low < -0.25 < high
    assert (rows["answered"]["pairs"], rows["answered"]["exactP"]) == (4, None)
    assert (found["overall"]["pairs"], found["overall"]["broken"]) == (8, 2)
    code, out, _ = typed(capsys, "report", "compare", *runs)
    assert code == 1
    assert "select.criteria=greets 'select.traces=[a,b]'" in out
    assert out.index("BROKEN") < out.index("FIXED") < out.index("GOT WORSE")
    assert "Traces in B alone: 1: f" in out
    assert all(len(line) <= 80 or "select." in line or "/" in line for line in out.splitlines())
    back = compared(capsys, *reversed(runs))
    assert back["worse"] == 1 and back["overall"]["difference"] == 0.125
    assert typed(capsys, "report", "compare", *runs)[1] == out


def test_a_comparison_shows_as_much_as_is_asked_for(tmp_path: Path, capsys: Captured) -> None:
    criteria, names = suite(tmp_path / "s.yaml", *ROWS), "abcdefg"
    runs = [
        evaluated(tmp_path, answer, traces(tmp_path / f"{answer}.jsonl", **dict.fromkeys(
            names, answer)), criteria)
        for answer in ("Hello!", "Go.")
    ]  # fmt: skip
    shown = [typed(capsys, "report", "compare", *runs, *flag)[1] for flag in (["-q"], [], ["-v"])]
    assert [text.count("    trace ") for text in shown] == [0, 3, 7]
    assert "4 more; -v shows them" in shown[1]
    assert all(text.endswith("7 CELLS GOT WORSE\n") for text in shown)


def test_the_words_that_select_a_cell_select_it_whatever_its_trace_is_called(
    tmp_path: Path, capsys: Captured
) -> None:
    names = ("plain", "with, comma", "it's [5]", "ünï*")
    criteria = suite(tmp_path / "s.yaml", *ROWS)
    runs = [
        evaluated(tmp_path, answer, traces(tmp_path / f"{answer}.jsonl", **dict.fromkeys(
            names, answer), other="Hello!"), criteria)
        for answer in ("Hello!", "Go.")
    ]  # fmt: skip
    capsys.readouterr()
    _, out, _ = typed(capsys, "report", "compare", *runs)
    (line,) = [line for line in out.splitlines() if "select.criteria=" in line]
    found = tmp_path / "Go..jsonl"
    again = evaluated(tmp_path, "again", found, criteria, *shlex.split(line), "report.out=[json]")
    report = json.loads(Path(again, "report.json").read_text(encoding="utf-8"))
    chosen = {one["trajectoryId"]: list(one["denseMap"]) for one in report["verdicts"]}
    assert chosen == {name: ["greets"] for name in names}


def test_a_row_that_changed_is_another_question_and_no_statistic_counts_it(
    tmp_path: Path, capsys: Captured
) -> None:
    found = traces(tmp_path / "t.jsonl", a="Hello!", b="Hi!")
    old = suite(tmp_path / "old.yaml", *ROWS)
    new = suite(tmp_path / "new.yaml", "greets", greets={"pattern": "(?s).*Hi.*"})
    runs = [evaluated(tmp_path, f"of-{s.stem}", found, s) for s in (old, new)]
    told = compared(capsys, *runs)
    assert told["rows"] == {"added": [], "removed": ["answered"], "changed": ["greets"]}
    assert {"suiteDigest"} <= {one["path"] for one in told["plan"]}
    assert told["counts"]["broken"] == told["counts"]["fixed"] == 1
    assert told["criteria"][0]["paired"] is None
    assert (told["overall"]["pairs"], told["overall"]["difference"]) == (0, None)
    assert told["exit"] == 1
    _, out, _ = typed(capsys, "report", "compare", *runs)
    assert "another question" in out and "undefined, no cell is decided in both" in out


def test_runs_that_share_nothing_are_not_called_equal(tmp_path: Path, capsys: Captured) -> None:
    criteria = suite(tmp_path / "s.yaml", *ROWS)
    runs = [
        evaluated(tmp_path, f"{name}", traces(tmp_path / f"{name}.jsonl", **{name: "Hello!"}),
                  criteria)
        for name in ("a", "b")
    ]  # fmt: skip
    told = compared(capsys, *runs)
    assert (told["exit"], told["equal"]) == (3, False)
    assert told["overall"]["exactP"] is None and told["overall"]["difference"] is None


def test_what_waits_for_answers_is_undecided_and_not_the_same(
    tmp_path: Path, capsys: Captured
) -> None:
    found = traces(tmp_path / "t.jsonl", a="Hello!", b="Hello!")
    rows = [*json.loads(suite(tmp_path / "s.yaml", *ROWS).read_text(encoding="utf-8"))["criteria"]]
    rows.append({"criterion_id": "polite", "statement": "Pass = it is polite.", "severity": "HIGH",
                 "class": "judge"})  # fmt: skip
    whole = {"suite": "desk", "version": 1, "criteria": rows}
    criteria = tmp_path / "s.yaml"
    criteria.write_text(json.dumps(whole), encoding="utf-8")
    before = evaluated(tmp_path, "before", found, criteria)
    asked = ("judge=dispatch", "judge.model=m", f"judge.dir={tmp_path / 'tray'}")
    waits = evaluated(tmp_path, "waits", found, criteria, *asked)
    told = compared(capsys, before, waits)
    assert (told["exit"], told["counts"]["newlyUncertain"]) == (1, 4)
    assert not any(cell["after"]["adjudicated"] for cell in told["cells"])
    assert compared(capsys, waits, before)["exit"] == 0
    code, out, _ = typed(capsys, "report", waits)
    assert code == 0 and "Waiting: 2 traces for answers" in out
    assert "select.failed_from" not in out


def test_repeats_of_one_run_alone_are_told(tmp_path: Path, capsys: Captured) -> None:
    found, criteria = traces(tmp_path / "t.jsonl", a="Hello!"), suite(tmp_path / "s.yaml", *ROWS)
    script = tmp_path / "judge.py"
    script.write_text("def judge(request):\n    raise OSError('away')\n", encoding="utf-8")
    judged = json.loads(criteria.read_text(encoding="utf-8"))
    judged["criteria"].append({"criterion_id": "polite", "statement": "Pass = it is polite.",
                               "severity": "HIGH", "class": "judge"})  # fmt: skip
    criteria.write_text(json.dumps(judged), encoding="utf-8")
    asked = ("judge=scripted", "judge.model=m", f"judge.script={script}")
    once = evaluated(tmp_path, "once", found, criteria, *asked)
    twice = evaluated(tmp_path, "twice", found, criteria, *asked, "sampling.replicates=2")
    told = compared(capsys, once, twice)
    assert told["traces"]["added"] == ["a · repeat 1"]
    assert (told["exit"], told["equal"]) == (0, False)


def test_another_recording_and_pin_are_told_before_what_they_changed(
    demo: Path, tmp_path: Path, capsys: Captured
) -> None:
    recordings = tmp_path / "recordings"
    shutil.copytree(_recordings(demo / "run"), recordings)
    reworded = 0
    for file in sorted(recordings.rglob("*")):
        if file.is_file():
            text = file.read_text(encoding="utf-8")
            changed = text.replace(QUOTED, f"{QUOTED}Seen anew: ")
            reworded += changed != text
            file.write_text(changed, encoding="utf-8")
    assert reworded
    run = tmp_path / "again"
    main(["evaluate", "experiment=demo", f"paths.state={tmp_path / 'state'}",
          f"hydra.run.dir={run}", f"judge.dir={recordings}", "verifier=none",
          "sampling.seed=7"])  # fmt: skip
    told = compared(capsys, str(demo / "run"), str(run))
    paths = [one["path"] for one in told["plan"]]
    assert paths[0] == "verifier" and "sampling.seed" in paths
    assert told["counts"]["wording"] > 0
    worded = [cell for cell in told["cells"] if cell["change"] == "wording"]
    assert all(cell["before"]["state"] == cell["after"]["state"] for cell in worded)
    _, out, _ = typed(capsys, "report", "compare", str(demo / "run"), str(run))
    assert out.index("sampling.seed: 0 → 7") < out.index("Pass rate")
    assert re.search(r"in other\s+words", out)


def _recordings(run: Path) -> str:
    plan = json.loads((run / "plan.json").read_text(encoding="utf-8"))
    return str(plan["runs"]["judgeDir"])
