"""The four ways to run a subject and to reach its engineer that come with Helix (METHOD 77).

None of them writes to the subject: programs get what they need on standard input, and what they
print goes into the loop's folder.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from helix.errors import ConfigError, TraceError
from helix.files import atomic_write, file_name, is_file
from helix.improve.cases import case_of
from helix.improve.programs import MOST_BYTES, ProgramError, Programs
from helix.improve.response import MOST_BYTES as MOST_RESPONSE_BYTES
from helix.ingest import Input
from helix.model.config import ImproveConfig
from helix.model.lines import encode_line, portable
from helix.model.trace import Trace
from helix.registry import Case, EngineerContext, Fresh, SubjectContext, load

Part = Literal["subject", "engineer"]
KEYS: Mapping[Part, tuple[str, str]] = {
    "subject": ("improve.command", "improve.call"),
    "engineer": ("improve.engineer_command", "improve.engineer_call"),
}
_NAMED = 5


def program_ready(config: ImproveConfig, part: Part) -> None:
    """Refuse a `command` that names no program."""
    words = config.command if part == "subject" else config.engineer_command
    key = KEYS[part][0]
    if not words:
        raise ConfigError(f"{key} must name a program (got nothing): add {key}=[PROGRAM,ARGUMENT]")
    if shutil.which(words[0]) is None:
        raise ConfigError(f"{key} must begin with a program ({words[0]} is not found)")


def call_ready(config: ImproveConfig, part: Part) -> None:
    """Refuse a `python` that names no function."""
    target = config.call if part == "subject" else config.engineer_call
    key = KEYS[part][1]
    file, _, name = (target or "").rpartition(":")
    if not file or not name.isidentifier():
        raise ConfigError(f"{key} must be FILE.py:FUNCTION (got {target or 'nothing'})")
    if not is_file(file):
        raise ConfigError(f"{key}: {file} is no file")


def run_command(cases: Sequence[Case], context: SubjectContext) -> Fresh:
    """Run the program of `improve.command` once for each case."""
    return _run_programs(context.config.command, cases, context)


def run_python(cases: Sequence[Case], context: SubjectContext) -> Fresh:
    """Call the function of `improve.call` once for each case, each in a fresh process."""
    return _run_programs(_calling(context.config.call or ""), cases, context)


def read_directory(cases: Sequence[Case], context: SubjectContext) -> Fresh:
    """Take the traces that somebody records into a folder, or wait for them."""
    base = context.config.dir
    own = Path(base) / f"swing-{context.swing}" / f"repeat-{context.repeat}" if base else None
    return _recorded(cases, context.format, own or context.folder)


def ask_human(cases: Sequence[Case], context: SubjectContext) -> Fresh:
    """Write down what is to be run, and take the traces that somebody records, or wait for them."""
    asked = b"".join(encode_line(dict(case.input)) + b"\n" for case in cases)
    atomic_write(context.aside / "cases.jsonl", asked)
    fresh = read_directory(cases, context)
    told = f"the inputs of the cases are in {context.aside / 'cases.jsonl'}"
    return Fresh(fresh.files, fresh.lost, fresh.waiting, f"{fresh.told}; {told}")


def respond_command(context: EngineerContext) -> bytes | None:
    """Give the request to the program of `improve.engineer_command`."""
    places = {"request": str(context.request), "answer": str(context.answer)}
    return _answered(context.config.engineer_command, places, context)


def respond_python(context: EngineerContext) -> bytes | None:
    """Give the request to the function of `improve.engineer_call`."""
    return _answered(_calling(context.config.engineer_call or ""), {}, context)


def read_answer(context: EngineerContext) -> bytes | None:
    """Return what somebody wrote as the response, or None."""
    return _written(context.answer)


def _calling(target: str) -> list[str]:
    return [sys.executable, "-B", "-P", str(Path(__file__).with_name("callee.py")), target]


def _run_programs(words: Sequence[str], cases: Sequence[Case], context: SubjectContext) -> Fresh:
    programs = Programs()
    files = _kept(cases, context)
    lost: dict[str, str] = {}
    with concurrent.futures.ThreadPoolExecutor(context.config.concurrency) as pool:
        running = {
            pool.submit(_run_case, programs, words, case, context): case.id
            for case in cases
            if case.id not in files
        }
        try:
            for done in concurrent.futures.as_completed(running):
                try:
                    files[running[done]] = done.result()
                except ProgramError as error:
                    lost[running[done]] = portable(str(error))
        except BaseException:
            programs.stop()
            raise
    return Fresh(dict(sorted(files.items())), dict(sorted(lost.items())))


def _kept(cases: Sequence[Case], context: SubjectContext) -> dict[str, Path]:
    """Return the traces that are there already.

    One that cannot be read, or bears the id of another, is no trace of its case; it is recorded
    anew.
    """
    by_id: dict[str, list[str]] = {}
    there = {case.id: file for case in cases if (file := _target(case, context)).is_file()}
    registry = load() if there else None
    for case, file in there.items():
        assert registry is not None
        with contextlib.suppress(TraceError):
            found = list(Input.open(str(file), context.format, registry))
            if len(found) == 1 and isinstance(found[0], Trace):
                by_id.setdefault(found[0].id, []).append(case)
    return {several[0]: there[several[0]] for several in by_id.values() if len(several) == 1}


def _target(case: Case, context: SubjectContext) -> Path:
    return context.folder / f"{file_name(case.id)}.json"


def _run_case(
    programs: Programs, words: Sequence[str], case: Case, context: SubjectContext
) -> Path:
    """Record one case as one file; what is half made is not kept."""
    target = _target(case, context)
    for old in context.aside.glob(f"*-{target.name}"):
        old.unlink()
    # What a killed loop left running goes on writing under a name of its own.
    part = context.aside / f"{os.getpid()}-{target.name}"
    places = {
        "case": case.id,
        "out": str(part),
        "repeat": str(context.repeat),
        "swing": str(context.swing),
    }
    given = json.dumps(dict(case.input), ensure_ascii=True).encode("ascii")
    said = programs.run(_placed(words, places), given, context.config.case_s)
    if any("{out}" in word for word in words):
        if not part.is_file():
            raise ProgramError(f"{words[0]} wrote no {{out}}")
        if part.stat().st_size > MOST_BYTES:
            raise ProgramError(f"{words[0]} wrote more than {MOST_BYTES:,} bytes")
        os.replace(part, target)
    elif not said.strip():
        raise ProgramError(f"{words[0]} printed no trace")
    else:
        atomic_write(target, said)
    return target


def _answered(
    words: Sequence[str], places: Mapping[str, str], context: EngineerContext
) -> bytes | None:
    if (before := _written(context.answer)) is not None:
        return before
    given = context.request.read_bytes()
    said = Programs().run(_placed(words, places), given, context.config.engineer_s)
    if (written := _written(context.answer)) is not None:
        return written
    if not said.strip():
        raise ProgramError(f"{words[0]} printed no response")
    return said


def _written(answer: Path) -> bytes | None:
    """Return what stands in a response, no more than tells that it is too long; None of no file."""
    if not answer.is_file():
        return None
    with open(answer, "rb") as file:
        return file.read(MOST_RESPONSE_BYTES + 1)


def _placed(words: Sequence[str], places: Mapping[str, str]) -> list[str]:
    """Return the words with each place filled in once; what is filled in is not looked at again."""
    return [_filled(word, places) for word in words]


def _filled(word: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        head, found, tail = word.partition(f"{{{name}}}")
        if found:
            return f"{_filled(head, places)}{value}{_filled(tail, places)}"
    return word


def _recorded(cases: Sequence[Case], form: str, folder: Path) -> Fresh:
    known = {case.id for case in cases}
    files: dict[str, Path] = {}
    twice: set[str] = set()
    if folder.is_dir() and any(folder.iterdir()):
        for item in Input.open(str(folder), form, load()):
            case = case_of(item, known) if isinstance(item, Trace) else None
            if isinstance(item, Trace) and case is not None:
                twice |= {case} & files.keys()
                files[case] = Path(item.source.file)
    if twice:
        raise ConfigError(
            f"{folder} must hold one trace of a case (got more of {', '.join(sorted(twice))})"
        )
    waiting = tuple(case.id for case in cases if case.id not in files)
    more = f" and {len(waiting) - _NAMED} more" if len(waiting) > _NAMED else ""
    named = ", ".join(waiting[:_NAMED]) + more
    told = f"record a trace of each of these cases into {shlex.quote(str(folder))}: {named}"
    return Fresh(files, {}, waiting, told)
