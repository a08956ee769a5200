"""`helix audit injection`: plant attacks into copies of traces, and say what they move."""

from __future__ import annotations

import argparse
import contextlib
import datetime
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from helix.app import console, injections
from helix.app.arguments import positive
from helix.app.commands.evaluate import with_demo_traces
from helix.app.progress import Progress
from helix.app.tried import suite_file
from helix.app.waiting import told
from helix.audit import BUILT_IN, PLACES, Findings, Payload, attack, load_payloads
from helix.errors import ExitCode, TraceError, UsageError, unknown


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the subcommand to those of `helix audit`."""
    injection = commands.add_parser(
        "injection",
        help="plant attacks into copies of traces, and say which verdicts move",
        description="Plant texts that ask for a pass, pretend, imitate or break out into copies "
        "of traces, and compare every cell with the original's. Planting only adds. Your files "
        "are not touched. Without a judge, code rows and the questions to a judge are tested; "
        "with one (judge=NAME judge.model=MODEL) its verdicts too. Exits 0 if nothing moved "
        "towards a pass; 1 if something moved so, a code row moved that does not read what was "
        "planted, or a question does not hold; 3 if there was nothing to test, or the judge left "
        "cells unanswered; 5 if answers are waited for; 2 for usage.",
    )
    add = injection.add_argument
    add("settings", metavar="KEY=VALUE", nargs="*", help="settings as `helix evaluate` takes them")
    add("--traces", metavar="PATH", required=True, help="file, folder, glob, - or demo:outreach")
    add("--suite", metavar="FILE", required=True, help="the YAML file, or demo:outreach")
    add("--payloads", metavar="FILE", help="JSON Lines of payloads instead of the built-in ones")
    more = "may be given several times; docs/safety.md lists them"
    add("--class", metavar="NAME", action="append", dest="classes", help=f"this class only; {more}")
    add("--place", metavar="NAME", action="append", help=f"this place only; {more}")
    add("--per-class", metavar="N", type=positive, default=1, help="payloads per class and place")
    add("--seed", type=int, default=0, help="draws payloads and places (0)")
    add("--out", metavar="DIR", help="keep the planted copies, and the judge's run, here")
    add("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, typed: str) -> ExitCode:
    """Plant, compare and print; `typed` is the command as it can be typed again."""
    try:
        return _attacked(args, typed)
    except TraceError as error:
        raise UsageError(str(error).replace("subject.traces", "--traces")) from None


def _attacked(args: argparse.Namespace, typed: str) -> ExitCode:
    from helix.app.launch import configured

    payloads, places = _payloads(args), _places(args.place)
    own = [f"subject.traces={args.traces}", f"criteria.file={suite_file(args.suite)}"]
    if not any(word.startswith(("judge=", "judge.backend=")) for word in args.settings):
        own.append("judge=none")
    config = with_demo_traces(configured("evaluate", [*own, *args.settings]))
    progress = Progress()
    with _folder(args.out) as folder:
        try:
            found = attack(
                config,
                payloads,
                folder,
                today=datetime.datetime.now(datetime.UTC).date(),
                seed=args.seed,
                per_class=args.per_class,
                places=places,
                on_event=progress,
            )
        finally:
            progress.close()
    if args.json:
        console.say_json(injections.as_json(found))
    else:
        console.say(injections.as_text(found))
    for line in told(found.trays, typed):
        console.tell(line)
    return _code(found)


def _code(found: Findings) -> ExitCode:
    if found.failed:
        return ExitCode.INTERNAL
    if found.gained or found.astray or found.broken:
        return ExitCode.FAIL
    if found.pending:
        return ExitCode.WAITING
    return ExitCode.PASS if found.tested and not found.unanswered else ExitCode.INCOMPLETE


def _payloads(args: argparse.Namespace) -> tuple[Payload, ...]:
    payloads = load_payloads(args.payloads) if args.payloads else BUILT_IN
    known = sorted({payload.klass for payload in payloads})
    for name in args.classes or ():
        if name not in known:
            raise UsageError(f"--class: {unknown('class', name, known)}")
    return tuple(p for p in payloads if not args.classes or p.klass in args.classes)


def _places(names: Sequence[str] | None) -> tuple[str, ...]:
    for name in names or ():
        if name not in PLACES:
            raise UsageError(f"--place: {unknown('place', name, PLACES)}")
    return tuple(place for place in PLACES if not names or place in names)


@contextlib.contextmanager
def _folder(out: str | None) -> Iterator[Path]:
    if out is None:
        with tempfile.TemporaryDirectory(prefix="helix-") as folder:
            yield Path(folder)
        return
    yield Path(out)
