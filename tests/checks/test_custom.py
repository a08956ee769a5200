"""Custom checks: a decorated function in a project's own file or module."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

import helix.registry
from helix.checks import CheckContext, decide, load_modules
from helix.errors import ConfigError, SuiteError
from helix.fieldpath import MISSING
from helix.model.trace import Observation
from helix.registry import Registry
from helix.suite import compile
from helix.suite.load import from_source
from helix.suite.source import parse
from tests.checks.builder import assert_grounded, call, said, trace

POLITE = """
from __future__ import annotations

from pydantic import Field

from helix.checks import Decision, Params, check, cite
from helix.model.select import Place


class Words(Params):
    word: str = Field(min_length=1)


@check("polite", version="3")
def polite(trace, params: Words, context) -> Decision:
    for m in trace.transcript:
        if params.word in m.text:
            return Decision("pass", f"{m.id} says {params.word}",
                            (cite(trace, Place(m.id, "text", m.text)),))
    return Decision("na", f"nobody says {params.word}")
"""
SUITE = """
suite: own
criteria:
  - criterion_id: P
    statement: Pass = somebody says please.
    severity: HIGH
    code_eval: {primitive: polite, word: please}
"""


@pytest.fixture
def registry() -> Registry:
    return helix.registry.load(entry_points=())


def write(folder: Path, text: str, name: str = "own.py") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return name


def test_a_file_of_ten_lines_is_a_check_with_checked_parameters(
    tmp_path: Path, registry: Registry
) -> None:
    assert load_modules([write(tmp_path, POLITE)], registry, tmp_path) == ["polite"]
    assert registry.items("checks")["polite"].plugin == "checks.modules:own.py"
    (row,) = compile(from_source(parse(SUITE, "own.yaml")), registry).rows
    about = trace(said("user", "please help"), call("x"))
    decision = decide(row, about, CheckContext())
    assert (decision.state, decision.refs[0].obs) == ("pass", "m0")
    assert_grounded(about, decision)
    assert decide(row, trace(said("user", "help")), CheckContext()).state == "na"


def test_a_parameter_that_the_model_does_not_have_is_an_error(
    tmp_path: Path, registry: Registry
) -> None:
    plain = POLITE.replace("class Words(Params)", "class Words(pydantic.BaseModel)")
    plain = plain.replace("from pydantic", "import pydantic\nfrom pydantic")
    load_modules([write(tmp_path, plain)], registry, tmp_path)
    text = SUITE.replace("word: please", "word: please, wrod: x")
    with pytest.raises(SuiteError, match="unknown key 'wrod'; did you mean 'word'"):
        compile(from_source(parse(text, "own.yaml")), registry)
    (row,) = compile(from_source(parse(SUITE, "own.yaml")), registry).rows
    assert decide(row, trace(said("user", "please")), CheckContext()).state == "pass"


def test_an_edit_changes_the_version_and_with_it_the_row(tmp_path: Path) -> None:
    digests = set()
    for text in (POLITE, POLITE, POLITE + "# an edit\n"):
        registry = helix.registry.load(entry_points=())
        load_modules([write(tmp_path, text)], registry, tmp_path)
        (row,) = compile(from_source(parse(SUITE, "own.yaml")), registry).rows
        assert row.check is not None
        assert row.check.version.startswith("3+")
        digests.add(row.digest)
    assert len(digests) == 2


def test_an_importable_module_is_named_without_a_path(
    tmp_path: Path, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, POLITE, "own_checks_of_a_package.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert load_modules(["own_checks_of_a_package"], registry) == ["polite"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "own.py defines no check; mark a function with"),
        ("x = \n", "own.py, line 1: SyntaxError"),
        ("\nimport no_such_module\n", "own.py, line 2: ModuleNotFoundError"),
        ("def f():\n    return 1 / 0\nf()\n", "own.py, line 2: ZeroDivisionError"),
        (
            "from helix.checks import check\n@check('presence')\ndef f(trace): ...\n",
            "own.py, line 2: check 'presence' is already registered by helix.checks.plugin",
        ),
        (
            "from helix.checks import check\n@check('a')\ndef f(trace, parms): ...\n",
            "own.py, line 2: TypeError: check 'a': f must take trace, and may take params and "
            "context (got trace, parms)",
        ),
        (
            "from helix.checks import check\n@check('a')\ndef f(trace, params: int): ...\n",
            "params must be annotated with a pydantic model",
        ),
    ],
)
def test_a_broken_file_says_where_and_what(
    tmp_path: Path, registry: Registry, text: str, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load_modules([write(tmp_path, text)], registry, tmp_path)
    assert str(caught.value).startswith("checks.modules: own.py")
    assert message in str(caught.value)


def test_a_missing_file_and_a_missing_module_are_named(tmp_path: Path, registry: Registry) -> None:
    write(tmp_path, POLITE)
    with pytest.raises(ConfigError, match=r"no file onw\.py; did you mean 'own\.py'"):
        load_modules(["onw.py"], registry, tmp_path)
    with pytest.raises(ConfigError, match="no module nowhere_at_all; give a file as a path"):
        load_modules(["nowhere_at_all"], registry)


def test_a_file_named_twice_clashes_with_itself(tmp_path: Path, registry: Registry) -> None:
    name = write(tmp_path, POLITE)
    with pytest.raises(ConfigError, match=r"already registered by checks\.modules:own\.py"):
        load_modules([name, name], registry, tmp_path)


MEDDLES = """
from helix.checks import Decision, Params, check


class Names(Params):
    names: list[str]


@check("meddles")
def meddles(trace, params: Names) -> Decision:
    seen = f"{len(trace.observations)} calls, {len(params.names)} names"
    trace.transcript.clear()
    trace.observations.clear()
    params.names.append("x")
    return Decision("na", seen)
"""
MEDDLED = """
suite: own
criteria:
  - criterion_id: A
    statement: Nothing.
    severity: LOW
    code_eval: {primitive: meddles, names: [a]}
"""


def test_what_a_check_does_to_a_trace_reaches_no_row_after_it(
    tmp_path: Path, registry: Registry
) -> None:
    load_modules([write(tmp_path, MEDDLES)], registry, tmp_path)
    (row,) = compile(from_source(parse(MEDDLED, "own.yaml")), registry).rows
    it = trace(Observation("c", 0, "send_mail", input_text='{"to": "a"}'), said("user", "hi"))
    (first, second) = (decide(row, it, CheckContext()) for _ in range(2))
    assert first == second and first.detail == "1 calls, 1 names"
    assert [o.input for o in it.tools()] == [{"to": "a"}] and len(it.transcript) == 1


def test_a_copy_keeps_what_is_not_there_and_what_was_not_read() -> None:
    it = copy.deepcopy(trace(call("send_mail"), Observation("c", 0, "x", output_text="[1]")))
    assert it.observations[1].undecoded == ("[1]",) and it.observations[1].output == [1]
    assert copy.deepcopy(MISSING) is MISSING
