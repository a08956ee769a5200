"""`helix criteria list|show|ratify|retire|diff|freshness`: the rows of a suite and their life."""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from helix.app import console
from helix.app.suite_facts import Facts, diff, diff_lines, facts, table
from helix.errors import ExitCode, UsageError
from helix.model.criterion import Ratified
from helix.model.history import Leg
from helix.reports.visible import one_line, visible
from helix.suite import load
from helix.suite.freshness import LEGS, Upkeep, freshness, leg_of, persist, reconcile
from helix.suite.living import Living, Signed, ratify, read, retire, write

STATE = ".helix"
Commands = Any  # argparse does not name the type of its subparsers.


def add(commands: Commands) -> None:
    """Add the commands to the parser of `helix criteria`."""
    _add_list(commands)
    _add_show(commands)
    _add_ratify(commands)
    _add_retire(commands)
    _add_diff(commands)
    _add_freshness(commands)


def _add_list(commands: Commands) -> None:
    found = _command(
        commands, "list", _list, "say of every row whether it gates, and how it stands",
        "Print every row of a suite, tombstones too: class, severity, origin, grounding, whether "
        "it gates and why, how its judge was measured last, and how many changes it has seen. "
        "Without SUITE, those of the living suite. Exits 0, or 2 where the suite cannot be read.",
    )  # fmt: skip
    found.add_argument("suite", metavar="SUITE", nargs="?", help="the YAML file")


def _add_show(commands: Commands) -> None:
    found = _command(
        commands, "show", _show, "print one row and its history",
        "Print a row as YAML, how it stands, and what became of it: who changed what, when and "
        "why. Exits 0, or 2 where there is no such row.",
    )  # fmt: skip
    found.add_argument("id", metavar="ID", help="the row's criterion_id")
    found.add_argument("--suite", metavar="SUITE", help="the YAML file (the living suite)")


def _add_ratify(commands: Commands) -> None:
    found = _command(
        commands, "ratify", _ratify, "accept a row of the living suite as a norm",
        "Write into a row of the living suite who accepts it as a norm, and into its history; a "
        "mined row of severity CRIT or HIGH then gates. Exits 0, or 2 where there is no such row "
        "or it is retired.",
    )  # fmt: skip
    found.add_argument("id", metavar="ID", help="the row's criterion_id")
    _signed(found, "--note")
    found.add_argument("--subject-version", metavar="V", help="the subject's version now")


def _add_retire(commands: Commands) -> None:
    found = _command(
        commands, "retire", _retire, "turn a row of the living suite into a tombstone",
        "Retire a row of the living suite: it is asked no more and gates no more, and its id "
        "stays. Exits 0, or 2 where there is no such row or it is retired.",
    )  # fmt: skip
    found.add_argument("id", metavar="ID", help="the row's criterion_id")
    _signed(found, "--why")


def _add_diff(commands: Commands) -> None:
    found = _command(
        commands, "diff", _diff, "compare two suites row by row",
        "Compare two suites: rows added and retired, and the keys that changed. An id that is "
        "lost, or back from retirement, is an error. Exits 0, 1 if there is such an error, "
        "or 2 where a suite cannot be read.", living=False,
    )  # fmt: skip
    found.add_argument("before", metavar="BEFORE", help="the YAML file")
    found.add_argument("after", metavar="AFTER", help="the YAML file")


def _add_freshness(commands: Commands) -> None:
    found = _command(
        commands, "freshness", _freshness, "say which rows are of another version of the subject",
        "Say which rows of the living suite were found or ratified under another version of the "
        "subject, and what to do about each. With --run, what that run saw of them; --write notes "
        "it in their history. Exits 0, or 2 where no version is known.",
    )  # fmt: skip
    found.add_argument("--subject-version", metavar="V", help="the subject's version now")
    found.add_argument("--run", metavar="RUN", help="the folder of a run of that version")
    found.add_argument("--write", action="store_true", help="note what the run saw")
    found.add_argument("--by", metavar="NAME", help="who notes it")
    found.add_argument("--at", metavar="DATE", help="when (today)")


def _command(
    commands: Commands, name: str, handler: Callable[[argparse.Namespace], ExitCode],
    short: str, long: str, *, living: bool = True,
) -> argparse.ArgumentParser:  # fmt: skip
    found: argparse.ArgumentParser = commands.add_parser(name, help=short, description=long)
    if living:
        found.add_argument("--state", default=STATE, help=f"paths.state ({STATE})")
        text = f"whose living suite: {', '.join(LEGS)} (agent)"
        found.add_argument("--kind", default="agent", metavar="KIND", help=text)
    found.add_argument("--json", action="store_true", help="print JSON")
    found.set_defaults(handler=handler, settings=[])
    return found


def _signed(command: argparse.ArgumentParser, word: str) -> None:
    command.add_argument("--by", metavar="NAME", required=True, help="who says so")
    command.add_argument("--at", metavar="DATE", help="when (today)")
    command.add_argument(word, default="", metavar="TEXT", help="why")


def _leg(args: argparse.Namespace) -> Leg:
    return leg_of(args.kind)


def day(given: str | None) -> str:
    """Return the day that was given, or today's; UsageError for what is no date."""
    if given is None:
        return datetime.datetime.now(datetime.UTC).date().isoformat()
    try:
        datetime.datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(f"--at must be a date such as 2031-05-02 (got '{given}')") from None
    return given


def _facts(args: argparse.Namespace) -> tuple[list[Facts], Living]:
    if args.suite is None:
        living = read(args.state, _leg(args))
        return facts(living, args.state), living
    living = Living(load(args.suite).suite)
    return facts(living, args.state, source=args.suite), living


def _list(args: argparse.Namespace) -> ExitCode:
    found, living = _facts(args)
    if args.json:
        told = {"suite": living.suite.suite, "criteria": [fact.as_json() for fact in found]}
        console.say_json(told)
    else:
        console.say("\n".join(table(found)))
    return ExitCode.PASS


def _show(args: argparse.Namespace) -> ExitCode:
    found, living = _facts(args)
    living.row(args.id)
    (fact,) = (fact for fact in found if fact.row.criterion_id == args.id)
    if args.json:
        console.say_json(fact.as_json(whole=True))
    else:
        console.say("\n".join(fact.page()))
    return ExitCode.PASS


def _ratify(args: argparse.Namespace) -> ExitCode:
    word = Ratified(by=_name(args.by), at=day(args.at), note=args.note)
    living = read(args.state, _leg(args))
    return _written(args, ratify(living, args.id, word, args.subject_version))


def _retire(args: argparse.Namespace) -> ExitCode:
    signed = Signed(_name(args.by), day(args.at), args.why)
    return _written(args, retire(read(args.state, _leg(args)), args.id, signed))


def _name(given: str) -> str:
    if not given.strip():
        raise UsageError("--by must name somebody (got nothing)")
    return given


def _written(args: argparse.Namespace, living: Living) -> ExitCode:
    path = write(args.state, living, _leg(args))
    last = living.history[-1]
    if args.json:
        told = {"file": str(path), "criterionId": last.criterion_id, "event": last.event}
        console.say_json(told)
    else:
        console.say(visible(f"{last.criterion_id}: {last.event} by {last.by} on {last.at}; {path}"))
    return ExitCode.PASS


def _diff(args: argparse.Namespace) -> ExitCode:
    found = diff(load(args.before).suite, load(args.after).suite)
    if args.json:
        console.say_json(found.as_json())
    else:
        console.say("\n".join(diff_lines(found)))
    return ExitCode.FAIL if found.lost or found.back else ExitCode.PASS


def _freshness(args: argparse.Namespace) -> ExitCode:
    living = read(args.state, _leg(args))
    version, seen = _seen(args)
    tasks = reconcile(living, version, seen)
    if args.write:
        if seen is None:
            raise UsageError("--write notes what a run saw: add --run RUN")
        signed = Signed(args.by, day(args.at), "", version)
        write(args.state, persist(living, tasks, signed), _leg(args))
    flags = {fresh.criterion_id: fresh.flag for fresh in freshness(living, version)}
    if args.json:
        told = [_as_json(task, flags[task.criterion_id]) for task in tasks]
        page = {"subjectVersion": version, "written": args.write, "criteria": told}
        console.say_json(page)
        return ExitCode.PASS
    for task in tasks:
        console.say(one_line(_as_text(task, flags[task.criterion_id])))
    if not tasks:
        console.say("the living suite has no active row")
    return ExitCode.PASS


def _as_json(task: Upkeep, flag: str) -> dict[str, Any]:
    seen = None if task.seen is None else {"k": task.seen[0], "n": task.seen[1]}
    return {
        "criterionId": task.criterion_id,
        "flag": flag,
        "todo": task.action,
        "why": task.why,
        "seen": seen,
    }


def _as_text(task: Upkeep, flag: str) -> str:
    seen = ""
    if task.seen is not None:
        seen = f"; {task.seen[0]} of {task.seen[1]} decided traces fail in the run"
    return f"{task.criterion_id}: {flag}: {task.action} ({task.why}){seen}"


def _seen(args: argparse.Namespace) -> tuple[str, dict[str, tuple[int, int]] | None]:
    """Return the subject's version, and by criterion how many traces of the run fail of those
    that are decided."""
    version, seen = args.subject_version, None
    if args.run is not None:
        from helix.runs import RunFiles

        run = RunFiles.open(Path(args.run), "--run")
        ran = run.plan().decides["subject"].get("version")
        if version is not None and ran != version:
            raise UsageError(
                f"--run must be of version {version} of the subject (got {ran or 'none recorded'})"
            )
        version = ran
        rows: Sequence[Any] = run.scorecard().criteria
        seen = {row.criterion_id: (row.prevalence.k, row.prevalence.n) for row in rows}
    if version is None:
        raise UsageError(
            "the subject's version is not known: add --subject-version V, or a --run that was made "
            "with subject.version=V"
        )
    return version, seen
