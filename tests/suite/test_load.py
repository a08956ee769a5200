"""Criteria files: YAML as JSON has it, and every problem told at once with line, row and key."""

from __future__ import annotations

from pathlib import Path

import pytest

import helix.registry
from helix.errors import SuiteError
from helix.model.criterion import Criterion
from helix.registry import Registry
from helix.suite import compile, load
from helix.suite.load import from_source
from helix.suite.source import parse

HEAD = "suite: s\nversion: 1\ncriteria:\n"


@pytest.fixture(scope="module")
def registry() -> Registry:
    return helix.registry.load(entry_points=())


def problems(text: str, registry: Registry) -> list[str]:
    """Return the lines of the one error that a suite ends in."""
    with pytest.raises(SuiteError) as caught:
        compile(from_source(parse(text, "s.yaml")), registry)
    return str(caught.value).splitlines()


def row(body: str) -> str:
    return f"{HEAD}  - criterion_id: A\n    statement: Pass = x.\n    severity: HIGH\n{body}"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "    code_eval: {primitive: presense, field: output.response}\n",
            "s.yaml:7: A: code_eval.primitive: unknown check 'presense'; did you mean 'presence'?",
        ),
        (
            "    code_eval: {primitive: at-most-calls}\n",
            "; one of your own needs checks.modules=[FILE.py]",
        ),
        ("    code_eval: {primitive: presence}\n", "s.yaml:7: A: code_eval.field: is missing"),
        (
            "    code_eval:\n      primitive: presence\n      field: output.x\n"
            "      on_mising: na\n",
            "s.yaml:10: A: code_eval.on_mising: unknown key 'on_mising'; did you mean 'on_missing'",
        ),
        (
            "    code_eval:\n      primitive: presence\n      field: outptu.x\n",
            "s.yaml:9: A: code_eval.field: path 'outptu.x' must start with one of",
        ),
        (
            "    code_eval: {primitive: format-validity, field: output.x, pattern: '(a'}\n",
            "s.yaml:7: A: code_eval.pattern: pattern must be an RE2 expression (got '(a': ",
        ),
        (
            "    code_eval: {primitive: format-validity, field: output.x, pattern: 'a(?=b)'}\n",
            "RE2 has no lookaround and no backreferences",
        ),
        (
            "    code_eval: {primitive: format-validity, field: output.x, pattern: 7}\n",
            "s.yaml:7: A: code_eval.pattern: must be an RE2 expression written as text (got int)",
        ),
        (
            "    code_eval: {primitive: presence, field: output.x, on_missing: maybe}\n",
            "code_eval.on_missing: must be 'uncertain', 'fail' or 'na' (got 'maybe')",
        ),
        (
            "    code_eval: {primitive: string-equality, field: output.x, expected: [1]}\n",
            "code_eval.expected: must be a text, a number, true, false or null (got list)",
        ),
        (
            "    code_eval: {primitive: schema-conformance, field: output.x, "
            "json_schema: {type: objct}}\n",
            "code_eval.json_schema: must be a JSON Schema at type",
        ),
        (
            "    code_eval: {primitive: schema-conformance, field: output.x, "
            'json_schema: {"$ref": "http://example.invalid/s"}}\n',
            "code_eval.json_schema: must be a JSON Schema",
        ),
        (
            "    code_eval:\n      primitive: required-order\n      first: {tool: a}\n"
            "      then:\n        tool: b\n        were: 1\n",
            "s.yaml:12: A: code_eval.then.were: unknown key 'were'; did you mean 'where'?",
        ),
        (
            "    class: judge\n    judge_inputs:\n      - output.x\n      - obs:x\n",
            "s.yaml:10: A: judge_inputs[1]: path 'obs:x' must name a field of the observation",
        ),
        (
            "    class: judge\n    judge_inputs: [transcript.text]\n",
            "path 'transcript.text' must name an item of transcript: transcript[*]",
        ),
        (
            "    class: judge\n    judge_inputs: ['transcript[*].txt']\n",
            "'txt' is no field of a message; did you mean 'text'?",
        ),
        (
            "    code_eval: {primitive: presence, field: 'observations[-1].outptu.x'}\n",
            "'outptu' is no field of a call; did you mean 'output'?",
        ),
        (
            "    code_eval: {primitive: presence, field: obs:x.inptu.id}\n",
            "s.yaml:7: A: code_eval.field: path 'obs:x.inptu.id': 'inptu' is no field of a call; "
            "did you mean 'input'?",
        ),
        ("    status: gone\n", "status: must be 'active' or 'retired' (got 'gone')"),
        (
            "    severty: LOW\n",
            "s.yaml:7: A: severty: unknown key 'severty'; did you mean 'severity'?",
        ),
        ("    severity: LOW\n", "s.yaml:7: severity: stands twice in one mapping"),
        (
            "    mayNotApply: true\n    may_not_apply: true\n",
            "stands twice: as may_not_apply and as mayNotApply; write one",
        ),
        ("    terms: one\n", "s.yaml:7: A: terms: must be a list (got 'one')"),
        ("    discovery: {prevalence: {k: -1, n: 2}}\n", "discovery.prevalence.k:"),
    ],
)
def test_a_problem_names_file_line_row_and_key(
    body: str, expected: str, registry: Registry
) -> None:
    (line,) = problems(row(body), registry)
    assert expected in line


def test_a_suite_of_another_major_version_is_refused(registry: Registry) -> None:
    text = 'suite: s\nschema_version: "2.0"\n' + row("").removeprefix("suite: s\n")
    told = "s.yaml:2: schema_version: must be 1.0 (got '2.0')"
    assert any(told in problem for problem in problems(text, registry))


def test_all_problems_of_a_file_are_one_error(registry: Registry) -> None:
    text = f"""{HEAD}
  - criterion_id: A
    severity: CRITICAL
    code_eval: {{primitive: nothing}}
  - just text
  - criterion_id: B
    statement: Pass = x.
    severity: LOW
    code_eval: {{primitive: presence, field: output.}}
  - criterion_id: B
    statement: Pass = y.
    severity: LOW
"""
    first, *rest = problems(text, registry)
    assert first == "6 problems in the suite:"
    keys = ["statement", "severity", "code_eval.primitive", "must be a mapping", "code_eval.field",
            "criterion_id"]  # fmt: skip
    assert [key for key, line in zip(keys, rest, strict=True) if key not in line] == []
    assert "taken by the row at line 9" in rest[-1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("suite: a\ncriteria: [\n", "s.yaml:3: the file is no YAML"),
        ("suite: a\n\tcriteria: []\n", "(column 1); indent with spaces, not with a tab"),
        (
            'a: "\\d+"\n',
            "(column 5); in double quotes \\ starts an escape: put the pattern in single",
        ),
        ("suit: a\ncriteria: {}\n", "(got the keys 'suit'; did you mean 'suite'?)"),
        ("- a\n", "got a list: put it under `criteria:`"),
        ("", "a suite must be a mapping"),
        ("a: &a [*a]\n", "s.yaml:1: the file is no YAML: an alias refers to itself"),
        ("a: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
        ("a: 1e999\n", "s.yaml:1: the file is no YAML: a number is out of range"),
        ("a:\n  - !!int x\n", "s.yaml:2: the file is no YAML: a value is no int"),
        ("!!bool x: 1\n", "s.yaml:1: the file is no YAML: a value is no bool"),
        ("a: !!float x\n", "s.yaml:1: the file is no YAML: a value is no float"),
        ("a: !!timestamp x\n", "s.yaml:1: the file is no YAML: a value is no timestamp"),
        (f"a: {'9' * 5000}\n", "a value is no int, or too long for one"),
        ("a: \x01\n", "s.yaml: the file is no YAML"),
        ("[" * 5000, "s.yaml"),
    ],
)
def test_a_file_that_is_no_suite_says_why(text: str, expected: str) -> None:
    with pytest.raises(SuiteError) as caught:
        from_source(parse(text, "s.yaml"))
    assert expected in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"no file .*absent.yaml$"):
        load(tmp_path / "absent.yaml")
    (tmp_path / "suite.yaml").write_text("", "utf-8")
    with pytest.raises(SuiteError, match=r"no file .*suit.yaml; did you mean 'suite.yaml'\?$"):
        load(tmp_path / "suit.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"suite: \xe9")
    with pytest.raises(SuiteError, match="cannot be read"):
        load(tmp_path / "latin.yaml")
    with pytest.raises(SuiteError, match="cannot be read"):
        load(tmp_path)


def test_words_and_dates_stay_text_and_numbers_are_numbers() -> None:
    text = "a: [no, on, 2024-05-15, 12:30, 007, 1_000, .inf, 1e3, -4, true, null, ~]\n"
    assert parse(text, "x").value["a"] == [
        "no", "on", "2024-05-15", "12:30", "007", "1_000", ".inf", 1000.0, -4, True, None, None,
    ]  # fmt: skip


def test_anchors_and_merge_keys_work_and_keep_their_lines(registry: Registry) -> None:
    text = f"""{HEAD}
  - &base
    criterion_id: A
    statement: Pass = x.
    severity: HIGH
    code_eval: &code {{primitive: presence, field: output.response}}
  - <<: *base
    criterion_id: B
    code_eval: {{<<: *code, on_missing: na}}
"""
    rows = compile(from_source(parse(text, "s.yaml")), registry).rows
    assert [(r.id, r.line) for r in rows] == [("A", 5), ("B", 10)]
    assert rows[1].params is not None
    assert rows[1].params.model_dump()["on_missing"] == "na"


def test_many_aliases_of_aliases_are_read_once() -> None:
    doubled = "\n".join(f"l{n}: &l{n} [*l{n - 1}, *l{n - 1}]" for n in range(1, 60))
    assert parse(f"l0: &l0 [x]\n{doubled}\n", "x").value["l59"]


def test_both_spellings_of_every_key_give_the_same_row(registry: Registry) -> None:
    snake = row(
        "    may_not_apply: true\n    code_eval: {primitive: string-equality, field: output.x, "
        "expected: a, case_insensitive: true}\n"
    )
    camel = snake.replace("criterion_id", "criterionId").replace("may_not_apply", "mayNotApply")
    camel = camel.replace("code_eval", "codeEval").replace("case_insensitive", "caseInsensitive")
    (one,), (two,) = (
        compile(from_source(parse(text, "s.yaml")), registry).rows for text in (snake, camel)
    )
    assert one.params == two.params
    assert one.criterion.may_not_apply is two.criterion.may_not_apply is True


def test_a_copy_of_a_row_that_says_something_else_has_another_digest() -> None:
    row = Criterion.model_validate(
        {"criterion_id": "a", "statement": "Pass = x.", "severity": "HIGH", "class": "judge"}
    )
    before = row.digest
    assert row.model_copy(update={"statement": "Pass = y."}).digest != before
    assert row.model_copy().digest == row.digest == before
