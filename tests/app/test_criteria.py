"""`helix criteria explain`: what it prints, as text and as JSON, and how it exits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helix.app.cli import main

SUITE = """\
suite: shop
criteria:
  - criterion_id: paid
    statement: Pass = every payment after the yes went through.
    severity: HIGH
    code_eval:
      primitive: all
      of:
        - {primitive: presence, field: output.response}
        - {primitive: tool-output-failure, tool: pay, success_path: output.ok}
      after: {message: user, matches: '(?i)yes'}
"""


@pytest.fixture()
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    record = {
        "schemaVersion": "1.0",
        "id": "run-1",
        "output": {"response": "Paid \x1b[31m."},
        "observations": [
            {"id": "c1", "seq": 1, "type": "TOOL", "name": "pay", "input": {},
             "output": {"ok": False}},
        ],
        "transcript": [{"id": "m1", "seq": 0, "role": "user", "text": "Yes!",
                        "observationIds": []}],
    }  # fmt: skip
    (tmp_path / "runs.jsonl").write_text(json.dumps(record), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["criteria", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


WORDS = ("--traces", "runs.jsonl", "--suite", "suite.yaml")


@pytest.mark.usefixtures("files")
def test_explain_tells_the_way_to_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = ran(capsys, "explain", "paid", "--trace", "run-1", *WORDS)
    assert (code, err) == (0, "")
    lines = [line.strip() for line in out.splitlines()]
    assert lines[0] == "paid (code, HIGH): Pass = every payment after the yes went through."
    assert "after: message of the user matching '(?i)yes': 1 match" in lines
    assert "window (1 calls or spans, 0 messages): all → fail" in lines
    assert "of[1]: tool-output-failure → fail" in lines
    assert "ref c1 output.ok: “false” (exact); there stands “false”" in lines
    assert lines[-1] == "decision: fail"
    assert "\x1b" not in out and "\\x1b" in out


@pytest.mark.usefixtures("files")
def test_explain_prints_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "explain", "paid", "--trace", "run-1", *WORDS, "--json")
    told = json.loads(out)
    assert code == 0 and told["decision"]["state"] == "fail"
    (window,) = told["steps"]["parts"]
    assert [part["role"] for part in window["parts"]] == ["of[0]", "of[1]"]
    assert window["parts"][1]["refs"][0]["match"] == "exact"


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("row", "trace", "more", "told"),
    [
        ("payd", "run-1", (), "unknown criterion 'payd'; did you mean 'paid'?"),
        ("paid", "run-2", (), "unknown trace 'run-2'; did you mean 'run-1'?"),
        ("paid", "run-1", ("subject.tool=x",), "explain takes checks.modules"),
        ("paid", "run-1", ("--format", "hlix"), "did you mean 'helix'?"),
    ],
)
def test_explain_says_what_there_is(
    row: str, trace: str, more: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = ran(capsys, "explain", row, "--trace", trace, *WORDS, *more)
    assert (code, out) == (2, "") and told in err


def test_explain_reads_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    demo = ("--traces", "demo:outreach", "--suite", "demo:outreach")
    code, out, _ = ran(capsys, "explain", "reply-present", "--trace", "interview-01", *demo)
    assert code == 0 and out.rstrip().endswith("decision: pass")
    code, _, err = ran(capsys, "explain", "x", "--trace", "y", "--traces", "demo:o", *demo[2:])
    assert code == 2 and "unknown demo 'o'" in err


@pytest.mark.usefixtures("files")
def test_test_says_what_the_rows_see(capsys: pytest.CaptureFixture[str]) -> None:
    path = Path("runs.jsonl")
    good = path.read_text("utf-8").replace("false", "true")
    path.write_text(good, encoding="utf-8")
    words = ("test", "suite.yaml", "--traces", "runs.jsonl", "--seed", "3")
    code, out, err = ran(capsys, *words)
    assert (code, err) == (0, "")
    assert "1 row that code decides, 1 trace;" in out.splitlines()[0]
    assert "  kills loud faults: flip-flag 1/1" in out
    assert ran(capsys, *words)[1] == out
    code, out, _ = ran(capsys, *words, "--json", "--per-trace", "1")
    told = json.loads(out)
    assert code == 0 and (told["seed"], told["perTrace"], told["blind"]) == (3, 1, [])
    assert told["criteria"][0]["untouched"] == {"pass": 1, "fail": 0, "uncertain": 0, "na": 0}


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("suite", "code"),
    [
        (SUITE.replace("output.ok", "input"), 3),  # never passes: nothing to test
        (SUITE.partition("primitive: all")[0] + "primitive: presence\n      field: metadata.of", 3),
        (SUITE.partition("primitive: all")[0]
         + "{primitive: format-validity, field: 'transcript[0].role', pattern: user}", 1),
    ],
)  # fmt: skip
def test_test_exits_by_what_it_found(
    suite: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("suite.yaml").write_text(suite, encoding="utf-8")
    assert ran(capsys, "test", "suite.yaml", "--traces", "runs.jsonl")[0] == code


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("words", [("--per-trace", "0"), ("--seed", "x"), ("subject.x=1",)])
def test_test_refuses_what_it_does_not_know(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(capsys, "test", "suite.yaml", "--traces", "runs.jsonl", *words)[0] == 2


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "words", [("explain", "paid", "--trace", "run-1", *WORDS),
              ("test", "suite.yaml", "--traces", "runs.jsonl")],
)  # fmt: skip
def test_what_cannot_be_read_is_told(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with Path("runs.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n" + "{broken\n" * 7)
    _, _, err = ran(capsys, *words)
    assert "runs.jsonl line 2: " in err and "and 2 more that could not be read" in err


JUDGED = """\
suite: shop
tools: [pay]
criteria:
  - criterion_id: told
    statement: Pass = the price in the reply is what pay returned.
    severity: HIGH
    class: judge
    judge_inputs: [transcript]
    # the end
  - criterion_id: said
    statement: Pass = it holds.
    class: judge
    judge_inputs: [transcript]
"""


def test_terms_are_told_counted_and_stored(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    suite = files / "judged.yaml"
    suite.write_text(JUDGED, encoding="utf-8")
    code, out, err = ran(capsys, "terms", "judged.yaml", "--traces", "runs.jsonl")
    assert (code, err) == (0, "")
    assert "  pay: a tool: bound to its call, in 1 of 1 trace\n  price: bound by the judge" in out
    assert "said (line 10)\n  nothing in its statement" in out
    assert suite.read_text(encoding="utf-8") == JUDGED, "nothing is stored unasked"
    code, out, _ = ran(capsys, "terms", "judged.yaml", "--json", "--write")
    assert (code, json.loads(out)["written"]) == (0, ["told"])
    added = set(suite.read_text(encoding="utf-8").splitlines()) - set(JUDGED.splitlines())
    assert added == {"    terms: [pay, price, reply]"}
    code, out, _ = ran(capsys, "terms", "judged.yaml", "--write")
    assert (code, out.splitlines()[-1]) == (0, "terms stored in 0 rows")
    code, _, err = ran(capsys, "terms", "gone.yaml")
    assert code == 2 and "no file gone.yaml" in err


def test_the_grounding_of_a_run_is_linted_against_its_traces(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("subject.traces=runs.jsonl", "criteria.file=suite.yaml", "hydra.run.dir=out")
    main(["evaluate", *given, "report.out=[]"])
    capsys.readouterr()
    code, out, err = ran(capsys, "lint", "--run", "out")
    assert (code, err) == (0, "")
    assert out == "0 errors, 0 warnings; 1 of 1 decided verdict grounded in 1 line\n"
    verdicts = files / "out" / "verdicts.jsonl"
    line = json.loads(verdicts.read_text(encoding="utf-8"))
    line["verdicts"][0]["refs"][0]["value"] = "\x1b[31mnever there"
    verdicts.write_text(json.dumps(line), encoding="utf-8")
    code, out, _ = ran(capsys, "lint", "--run", "out")
    assert code == 1 and out.startswith("error: run-1 paid: c1 ") and "\x1b" not in out
    code, out, _ = ran(capsys, "lint", "--run", "out", "--json")
    assert (code, json.loads(out)["grounded"]) == (1, {"k": 0, "n": 1})
    loose = files / "loose.jsonl"
    loose.write_text(json.dumps(line), encoding="utf-8")
    code, _, err = ran(capsys, "lint", "--run", "loose.jsonl")
    assert code == 2 and "add --traces PATH" in err
    assert ran(capsys, "lint", "--run", "loose.jsonl", "--traces", "runs.jsonl")[0] == 1
    loose.write_text('{"trajectoryId": "run-1", "verdicts": []}\n{', encoding="utf-8")
    code, _, err = ran(capsys, "lint", "--run", "loose.jsonl", "--traces", "runs.jsonl")
    assert code == 2 and "loose.jsonl, line 2 is damaged" in err
    code, _, err = ran(capsys, "lint")
    assert code == 2 and "SUITE or --run RUN" in err
