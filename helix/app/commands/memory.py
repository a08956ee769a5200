"""`helix memory add|list|show|check`: what operators told Helix, one fact a file."""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from helix.app import console
from helix.app.arguments import Subcommands
from helix.errors import ExitCode, HelixError, UsageError
from helix.memory import LIFECYCLES, RULES, TYPES, Entry, Memory
from helix.memory.entry import LONGEST_BODY
from helix.memory.store import Draft
from helix.reports.visible import one_line, visible
from helix.reports.words import columns, counted


def run(argv: Sequence[str]) -> ExitCode:
    """Run one of the four; each says how it exits."""
    parser = argparse.ArgumentParser(
        prog="helix memory",
        description="What operators told Helix about itself and themselves: one fact per file in "
        "STATE/memory, to be committed. Runs of evaluate and discover say which entries they "
        "know; discover is given them, judges and verifiers never are.",
        formatter_class=Subcommands,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_add(commands)
    for name, text, handler, exits in (
        ("list", "list the entries", _list, "0"),
        ("show", "print one entry", _show, "0, or 2 where there is no such entry"),
        ("check", "say what is wrong, with file and line", _check, "0, or 1 if anything is wrong"),
    ):
        command = commands.add_parser(
            name, help=text, description=f"{text.capitalize()}. Exits {exits}."
        )
        if name == "show":
            command.add_argument("name", metavar="NAME", help="the entry's name")
        if name == "list":
            text = "only entries that a run of this stage loads"
            command.add_argument("--stage", choices=LIFECYCLES, help=text)
        _common(command, handler)
    args = parser.parse_args(argv)
    code: ExitCode = args.handler(args)
    return code


def _common(
    command: argparse.ArgumentParser, handler: Callable[[argparse.Namespace], ExitCode]
) -> None:
    command.add_argument("--state", default=".helix", help="paths.state of the runs (.helix)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(handler=handler)


def _add_add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    rules = "\n".join(f"  {of:<10} {text}" for of, text, _ in RULES)
    command = commands.add_parser(
        "add",
        help="remember a fact, or update the entry of its name",
        description="Remember a fact. An entry of the same name is updated and dated anew. Its "
        "type is that of the first rule that matches:\n\n" + rules + "\n\nPrivate data, findings "
        "about the subject, what is about one run, and what code,\nconfiguration or git already "
        "say are refused. Exits 0, or 2.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("text", metavar="TEXT", help="the fact, or - for standard input")
    command.add_argument("--name", metavar="SLUG", help="its name; made of the text if left out")
    command.add_argument("--title", metavar="TEXT", help="how the index calls it")
    text = "one line that tells when it matters; the first sentence if left out"
    command.add_argument("--description", metavar="TEXT", help=text)
    command.add_argument("--type", choices=TYPES, help="in place of the rules")
    text = "the stage that it is for (general, or as it was)"
    command.add_argument("--lifecycle", choices=LIFECYCLES, help=text)
    command.add_argument("--why", metavar="TEXT", help="why; of feedback and project")
    command.add_argument("--how", metavar="TEXT", help="how to apply it; of feedback and project")
    _common(command, _add)


def _add(args: argparse.Namespace) -> ExitCode:
    text = args.text
    if text == "-":
        text = sys.stdin.read(LONGEST_BODY + 1)
    draft = Draft(
        text, args.name, args.title, args.description, args.type, args.lifecycle, args.why, args.how
    )
    try:
        done = Memory(args.state).add(draft, datetime.date.today(), _known(args.state))
    except UsageError as error:
        raise type(error)(visible(str(error))) from None
    entry = done.entry
    if args.json:
        console.say_json({**_told(entry), "updated": done.updated})
    else:
        word = "updated" if done.updated else "remembered"
        console.say(f"{word}: {entry.name} ({entry.type}, {entry.lifecycle}, {entry.created})")
    return ExitCode.PASS


def _list(args: argparse.Namespace) -> ExitCode:
    memory = Memory(args.state)
    entries, faults = memory.read()
    if args.stage:
        entries = tuple(e for e in entries if e.lifecycle in (args.stage, "general"))
    if args.json:
        console.say_json(
            {"folder": str(memory.folder), "entries": [_told(entry) for entry in entries]}
        )
    elif entries:
        for line in columns(map(_cells, entries)):
            console.say(line)
    else:
        console.say(f"no entries in {memory.folder}")
    if faults:
        broken = counted(len({fault.file for fault in faults}), "file")
        console.tell(f"{broken} with faults; see: helix memory check")
    return ExitCode.PASS


def _show(args: argparse.Namespace) -> ExitCode:
    try:
        entry = Memory(args.state).get(args.name)
    except UsageError as error:
        raise type(error)(visible(str(error))) from None
    if args.json:
        console.say_json({**_told(entry), "body": entry.body})
    else:
        console.say(visible(entry.page))
    return ExitCode.PASS


def _check(args: argparse.Namespace) -> ExitCode:
    memory = Memory(args.state)
    faults = memory.check()
    if args.json:
        console.say_json(
            {"folder": str(memory.folder), "problems": [asdict(fault) for fault in faults]}
        )
    else:
        for fault in faults:
            console.say(one_line(f"error: {memory.folder}/{fault}"))
        entries = counted(len(memory.read()[0]), "sound entry", "sound entries")
        console.say(f"{entries}; {counted(len(faults), 'problem')}")
    return ExitCode.FAIL if faults else ExitCode.PASS


def _known(state: str) -> frozenset[str]:
    """Return the ids of the living suite's rows; of one that cannot be read, none."""
    from helix.suite import load

    found: set[str] = set()
    for path in sorted((Path(state) / "living-suite").glob("*.suite.yaml")):
        try:
            found |= {row.criterion.criterion_id for row in load(path).rows}
        except HelixError:
            continue
    return frozenset(found)


def _cells(entry: Entry) -> tuple[str, ...]:
    return (entry.name, entry.type, entry.lifecycle, entry.created, one_line(entry.description))


def _told(entry: Entry) -> dict[str, Any]:
    return {
        "name": entry.name,
        "description": entry.description,
        "type": entry.type,
        "lifecycle": entry.lifecycle,
        "created": entry.created,
        "digest": entry.digest,
    }
