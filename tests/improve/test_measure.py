"""A repeat is read back case by case; what nobody adjudicated is no answer."""

from __future__ import annotations

import json
from pathlib import Path

import helix
from helix.improve.measure import Measured, measured

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
    severity: HIGH
    class: judge
    judge_inputs: [output.response]
"""


def trace(name: str, **more: object) -> str:
    call = {"id": "o0", "type": "TOOL", "name": "look", "output": {}}
    plain = {"id": name, "input": {"prompt": "x"}, "output": {"response": "well"}}
    return json.dumps({**plain, "observations": [call], **more}) + "\n"


def read(folder: Path, texts: dict[str, str], files: dict[str, str], judged: bool) -> Measured:
    (folder / "traces").mkdir()
    for name, text in texts.items():
        (folder / "traces" / name).write_text(text, "utf-8")
    suite = SUITE if judged else SUITE[: SUITE.index("  - criterion_id: polite")]
    (folder / "suite.yaml").write_text(suite, "utf-8")
    helix.evaluate(folder / "traces", folder / "suite.yaml", run_dir=folder / "run")
    return measured(folder / "run", 1, {c: folder / "traces" / name for c, name in files.items()})


def test_several_cases_may_stand_in_one_file(tmp_path: Path) -> None:
    texts = {"all.jsonl": trace("a") + trace("other") + trace("x", task="b")}
    found = read(tmp_path, texts, {"a": "all.jsonl", "b": "all.jsonl"}, judged=False)
    assert {(a.case, a.trace, a.state) for a in found.answers} == {("a", "a", "pass"),
                                                                   ("b", "x", "pass")}  # fmt: skip
    assert found.lost == {}


def test_a_file_without_one_readable_trace_loses_its_case(tmp_path: Path) -> None:
    texts = {"a.json": trace("1"), "b.jsonl": trace("2") + trace("3"), "c.json": "no trace"}
    found = read(tmp_path, texts, {"a": "a.json", "b": "b.jsonl", "c": "c.json"}, judged=False)
    assert {answer.case for answer in found.answers} == {"a"}
    assert found.lost["b"] == "its file must hold one trace of it (got 2)"
    assert found.lost["c"].startswith("its trace cannot be read: ")


def test_a_row_that_nobody_judged_is_no_answer_and_is_told(tmp_path: Path) -> None:
    found = read(tmp_path, {"a.json": trace("a")}, {"a": "a.json"}, judged=True)
    assert [(answer.criterion, answer.state) for answer in found.answers] == [("answered", "pass")]
    assert found.rows == {"answered", "polite"}
    assert "not all of its rows were adjudicated" in found.lost["a"]
