"""The ways to run a subject and to reach its engineer: as programs, functions, folders."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from helix.errors import ConfigError
from helix.files import file_name
from helix.improve import runners
from helix.improve.programs import ProgramError
from helix.improve.response import MOST_BYTES
from helix.model.config import ImproveConfig
from helix.registry import Case, EngineerContext, SubjectContext

CASES = (Case("a/b", {"id": "a/b", "n": 1}), Case("ü", {"id": "ü", "n": 2}))


def context(folder: Path, **own: object) -> SubjectContext:
    for name in ("traces", "aside"):
        (folder / name).mkdir(exist_ok=True)
    config = ImproveConfig.model_validate(own)
    return SubjectContext(config, 2, 3, folder / "traces", folder / "aside")


def program(folder: Path, text: str) -> list[str]:
    (folder / "program.py").write_text(text, "utf-8")
    return [sys.executable, str(folder / "program.py")]


def test_a_program_gets_each_case_on_standard_input_and_prints_its_trace(tmp_path: Path) -> None:
    words = program(tmp_path, "import sys; print(sys.argv[1:], sys.stdin.read())")
    words += ["{case}:{repeat}", "{swing}", "{other}"]
    fresh = runners.run_command(CASES, context(tmp_path, command=words))
    assert set(fresh.files) == {"a/b", "ü"} and not fresh.lost
    assert all(path.parent == tmp_path / "traces" for path in fresh.files.values())
    said = fresh.files["a/b"].read_text("utf-8")
    assert said == "['a/b:3', '2', '{other}'] {\"id\": \"a/b\", \"n\": 1}\n"


def test_what_is_filled_in_is_not_filled_in_again(tmp_path: Path) -> None:
    words = [*program(tmp_path, "import sys; print(sys.argv[1])"), "{case}"]
    cases = [Case("{repeat}{out}", {"id": "{repeat}{out}"})]
    fresh = runners.run_command(cases, context(tmp_path, command=words))
    assert fresh.files["{repeat}{out}"].read_text("utf-8") == "{repeat}{out}\n"


def test_a_program_may_write_its_trace_to_a_file(tmp_path: Path) -> None:
    text = (
        "import sys\nprint('talk')\n"
        "if '\"n\": 1' in sys.stdin.read(): open(sys.argv[1], 'w').write('{}')"
    )
    words = [*program(tmp_path, text), "{out}"]
    fresh = runners.run_command(CASES, context(tmp_path, command=words))
    assert fresh.files["a/b"].read_text("utf-8") == "{}"
    assert "wrote no {out}" in fresh.lost["ü"]


def test_what_a_killed_loop_left_half_made_is_no_trace_and_does_not_stay(tmp_path: Path) -> None:
    where = context(
        tmp_path, command=[*program(tmp_path, "import sys; print(sys.argv[1])"), "{out}"]
    )
    said = runners.run_command(CASES, where).lost
    name = f"{file_name('a/b')}.json"
    assert "wrote no {out}" in said["a/b"]
    (where.aside / f"1-{name}").write_text("{", "utf-8")
    program(tmp_path, "import sys; open(sys.argv[1], 'w').write(sys.argv[1])")
    given = Path(runners.run_command(CASES, where).files["a/b"].read_text("utf-8"))
    assert given.name.endswith(f"-{name}") and given.name != f"1-{name}"
    assert not list(where.aside.iterdir())


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("print()", "printed no trace"),
        ("raise SystemExit('out of mugs')", "out of mugs"),
        ("raise SystemExit('at work ' * 99 + 'out of mugs')", "at work out of mugs"),
        ("import time; time.sleep(600)", "did not end within 0.5 seconds"),
    ],
)
def test_a_program_without_a_trace_loses_its_case_alone(
    tmp_path: Path, text: str, told: str
) -> None:
    words = program(tmp_path, f"import sys\nif '\"n\": 2' not in sys.stdin.read():\n    {text}\n")
    words[1:1] = ["-S"]
    (tmp_path / "program.py").write_text(
        (tmp_path / "program.py").read_text("utf-8") + "else:\n    print('{}')\n", "utf-8"
    )
    seconds = 0.5 if "sleep" in text else 60.0
    cases = CASES[:1] if "sleep" in text else CASES
    fresh = runners.run_command(cases, context(tmp_path, command=words, case_s=seconds))
    assert told in fresh.lost["a/b"]
    assert str(tmp_path) not in fresh.lost["a/b"].replace(sys.executable, "")
    assert set(fresh.files) == {case.id for case in cases} - {"a/b"}


def test_a_trace_that_is_there_is_not_recorded_again(tmp_path: Path) -> None:
    said = trace("%s", task="%s")
    text = f"import json, sys; print({said!r} % (json.load(sys.stdin)['id'], sys.argv[1]))"
    where = context(tmp_path, command=[*program(tmp_path, text), "first"])
    runners.run_command(CASES, where)
    fresh = runners.run_command(CASES, context(tmp_path, command=[*where.config.command[:2], "2"]))
    read = [json.loads(path.read_text("utf-8")) for path in fresh.files.values()]
    assert [(one["id"], one["task"]) for one in read] == [("a/b", "first"), ("ü", "first")]


@pytest.mark.parametrize("first", ["no trace", "[", '{"id": "a/b"}', "SAME"])
def test_what_is_no_trace_of_its_case_is_recorded_anew(tmp_path: Path, first: str) -> None:
    said = trace("same") if first == "SAME" else first
    where = context(tmp_path, command=program(tmp_path, f"print({said!r})"))
    runners.run_command(CASES, where)
    said = trace("%s")
    program(tmp_path, f"import json, sys; print({said!r} % json.load(sys.stdin)['id'])")
    fresh = runners.run_command(CASES, where)
    read = {case: json.loads(file.read_text("utf-8"))["id"] for case, file in fresh.files.items()}
    assert read == {"a/b": "a/b", "ü": "ü"}


def test_a_function_runs_as_it_stands_and_leaves_no_bytecode(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    (agent / "log.py").write_text("VERSION = 1\n", "utf-8")
    (agent / "main.py").write_text(
        "import log\n\n\ndef run(case):\n    print('talk')\n"
        "    return {'id': case['id'], 'version': log.VERSION}\n",
        "utf-8",
    )
    for version in (1, 2):
        folder = tmp_path / f"run-{version}"
        folder.mkdir()
        (agent / "log.py").write_text(f"VERSION = {version}\n", "utf-8")
        where = context(folder, call=f"{agent / 'main.py'}:run")
        fresh = runners.run_python(CASES, where)
        assert not fresh.lost
        read = json.loads(fresh.files["ü"].read_text("utf-8"))
        assert read == {"id": "ü", "version": version}
    assert sorted(path.name for path in agent.iterdir()) == ["log.py", "main.py"]


def test_what_a_function_returns_must_be_json(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def run(case):\n    return {case['id']: {1, 2}}\n", "utf-8")
    fresh = runners.run_python(CASES[:1], context(tmp_path, call=f"{tmp_path / 'a.py'}:run"))
    assert "not JSON serializable" in fresh.lost["a/b"]


def asked(folder: Path, **own: object) -> EngineerContext:
    (folder / "request.json").write_text('{"id": "r-1"}', "utf-8")
    config = ImproveConfig.model_validate(own)
    return EngineerContext(config, folder / "request.json", folder / "response.json")


def test_an_engineer_prints_a_response_or_writes_it(tmp_path: Path) -> None:
    words = program(tmp_path, "import sys; print(sys.stdin.read() + open(sys.argv[1]).read())")
    said = runners.respond_command(asked(tmp_path, engineer_command=[*words, "{request}"]))
    assert said == b'{"id": "r-1"}{"id": "r-1"}\n'
    words = program(tmp_path, "import sys; open(sys.argv[1], 'w').write('written')")
    where = asked(tmp_path, engineer_command=[*words, "{answer}"])
    assert runners.respond_command(where) == b"written"
    program(tmp_path, "raise SystemExit('is not asked again')")
    assert runners.respond_command(where) == b"written"


def test_an_engineer_without_an_answer_is_told_of(tmp_path: Path) -> None:
    with pytest.raises(ProgramError, match="printed no response"):
        runners.respond_command(asked(tmp_path, engineer_command=program(tmp_path, "pass")))
    assert runners.read_answer(asked(tmp_path)) is None


def test_an_answer_that_is_no_file_is_none_and_one_without_end_is_not_read_whole(
    tmp_path: Path,
) -> None:
    where = asked(tmp_path)
    os.mkfifo(where.answer)
    assert runners.read_answer(where) is None
    where.answer.unlink()
    with open(where.answer, "wb") as file:
        file.truncate(200_000_000)
    said = runners.read_answer(where)
    assert said is not None and len(said) == MOST_BYTES + 1


def test_a_function_may_be_the_engineer(tmp_path: Path) -> None:
    text = "def act(request):\n    return {'request': request['id'], 'decision': 'amended'}\n"
    (tmp_path / "e.py").write_text(text, "utf-8")
    said = runners.respond_python(asked(tmp_path, engineer_call=f"{tmp_path / 'e.py'}:act"))
    assert said is not None and json.loads(said) == {"request": "r-1", "decision": "amended"}


def trace(name: str, **more: object) -> str:
    return json.dumps(
        {"id": name, "input": {"prompt": "x"}, "output": {}, "observations": [], **more}
    )


def test_recorded_traces_are_told_by_task_id_or_file(tmp_path: Path) -> None:
    where = context(tmp_path)
    assert runners.read_directory(CASES, where).waiting == ("a/b", "ü")
    (where.folder / "1.jsonl").write_text(trace("a/b") + "\n" + trace("else") + "\n", "utf-8")
    (where.folder / "ü.json").write_text(trace("other"), "utf-8")
    fresh = runners.read_directory(CASES, where)
    assert (fresh.waiting, set(fresh.files)) == ((), {"a/b", "ü"})
    (where.folder / "3.json").write_text(trace("x-2", metadata={}, task="ü"), "utf-8")
    with pytest.raises(ConfigError, match="one trace of a case"):
        runners.read_directory(CASES, where)


def test_a_folder_of_ones_own_is_read_by_swing_and_repeat(tmp_path: Path) -> None:
    where = context(tmp_path, dir=str(tmp_path / "mine"))
    assert "mine/swing-2/repeat-3" in runners.read_directory(CASES, where).told
    folder = tmp_path / "mine" / "swing-2" / "repeat-3"
    folder.mkdir(parents=True)
    (folder / "all.jsonl").write_text(trace("a/b") + "\n" + trace("ü") + "\n", "utf-8")
    assert runners.ask_human(CASES, where).waiting == ()
    inputs = (where.aside / "cases.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line) for line in inputs] == [dict(case.input) for case in CASES]


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({}, "must name a program"),
        ({"command": ["no-such-program"]}, "no-such-program is not found"),
    ],
)
def test_a_command_that_is_none_is_refused_before_anything_runs(
    own: dict[str, object], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        runners.program_ready(ImproveConfig.model_validate(own), "subject")


@pytest.mark.parametrize("call", [None, "agent.py", ":run", "gone.py:run", "agent.py:a b"])
def test_a_call_that_is_none_is_refused_before_anything_runs(call: str | None) -> None:
    with pytest.raises(ConfigError, match=r"^improve\.engineer_call"):
        runners.call_ready(ImproveConfig(engineer_call=call), "engineer")
