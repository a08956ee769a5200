"""`helix traces detect|show|convert|stats`: what trace files hold, before anything is judged."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from helix.app import console
from helix.app.arguments import Subcommands
from helix.app.plugins import registry
from helix.errors import ExitCode, SelectionError, TraceError, UsageError, did_you_mean
from helix.ingest import Input
from helix.ingest.overview import FileCount, contents, counts, detected, total
from helix.ingest.writing import WRITERS
from helix.model.manifest import LoadFailure
from helix.model.trace import Trace
from helix.reports.visible import visible
from helix.reports.words import columns, counted

NAMED_IDS = 20
_EXITS = "Exits 0 if a format is recognised (load failures are counted), 2 if none is."


def run(argv: Sequence[str]) -> ExitCode:
    """Run one of the four."""
    parser = argparse.ArgumentParser(
        prog="helix traces",
        description="Look into trace files: what format they are in, what they hold. PATH is a "
        "file, a folder, a glob, or - for standard input. " + _EXITS,
        formatter_class=Subcommands,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (text, _) in _COMMANDS.items():
        command = commands.add_parser(name, help=text, description=f"{text.capitalize()}. {_EXITS}")
        many = "+" if name in ("detect", "stats") else None
        command.add_argument("path", metavar="PATH", nargs=many, help="file, folder, glob or -")
        command.add_argument("--format", default="auto", help="read as this format (auto)")
        command.add_argument("--json", action="store_true", help="print JSON")
        if name == "show":
            command.add_argument("id", metavar="ID", nargs="?", help="the trace's id, if several")
        if name == "convert":
            command.add_argument("--to", choices=list(WRITERS), default="helix", help="(helix)")
            command.add_argument("--out", metavar="FILE", help="write there, not to stdout")
    args = parser.parse_args(argv)
    code: ExitCode = _COMMANDS[args.command][1](args)
    return code


def _detect(args: argparse.Namespace) -> ExitCode:
    source = _opened(args)
    found = list(detected(source))
    if args.json:
        files = [{**item.to_dict(), "reason": _here(item.reason)} for item in found]
        console.say_json({"files": files, **_astray(source)})
    else:
        width = max((len(item.format or "unknown") for item in found), default=0)
        for item in found:
            line = f"{item.format or 'unknown':<{width}}  {item.file}: {_here(item.reason)}"
            console.say(visible(line))
    _tell(source.astray)
    return _code(item.format is not None for item in found)


def _stats(args: argparse.Namespace) -> ExitCode:
    source = _opened(args)
    found = list(counts(source))
    totals = total(found)
    failures = [failure for count in found for failure in count.failures]
    if args.json:
        problems = [_told(failure) for failure in failures]
        files = [count.to_dict() for count in found]
        console.say_json(
            {"files": files, "totals": totals, "problems": problems, **_astray(source)}
        )
    else:
        console.say("\n".join(_table(found, totals)))
        _tell(failures)
    _tell(source.astray)
    return _code(_recognised(count) for count in found)


def _show(args: argparse.Namespace) -> ExitCode:
    trace = _wanted(_opened(args), args.id)
    if args.json:
        console.say_json(trace.to_dict())
        return ExitCode.PASS
    from helix.reports.tree import render_tree

    width = shutil.get_terminal_size((100, 24)).columns
    text = render_tree(trace, width)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        text = render_tree(trace, width, ascii=True)
    console.say(text)
    return ExitCode.PASS


def _convert(args: argparse.Namespace) -> ExitCode:
    if args.json and not args.out:
        raise UsageError("--json prints a summary, so --out FILE must say where the traces go")
    source = _opened(args)
    write = WRITERS[args.to]
    failures: list[LoadFailure] = []
    if args.out:
        from helix.files import atomic_writer

        if not Path(args.out).parent.is_dir():
            raise UsageError(f"--out must be in a folder that exists (got {args.out!r})")
        with atomic_writer(args.out) as file:
            written, recognised = _write(source, write, file, failures)
    else:
        written, recognised = _write(source, write, None, failures)
    summary = {"traces": written, "failures": len(failures), "to": args.to, "out": args.out}
    if args.json:
        console.say_json({**summary, "problems": [_told(failure) for failure in failures]})
    else:
        console.tell(f"{counted(written, 'trace')}, {counted(len(failures), 'load failure')}")
        _tell(failures)
    return _code([recognised])


def _write(
    source: Input,
    write: Callable[[Trace], bytes],
    file: BinaryIO | None,
    failures: list[LoadFailure],
) -> tuple[int, bool]:
    """Return how many traces were written, and whether a format was recognised."""
    written, recognised = 0, False
    for reader in source.readers():
        for item in contents(reader):
            if isinstance(item, LoadFailure):
                failures.append(item)
                continue
            line = write(item) + b"\n"
            if file is None:
                console.say_bytes(line)
            else:
                file.write(line)
            written += 1
        recognised = recognised or reader.format is not None
    failures += source.astray
    return written, recognised


def _opened(args: argparse.Namespace) -> Input:
    try:
        return Input.open(args.path, args.format, registry())
    except TraceError as error:
        raise UsageError(str(error).replace("subject.traces", "PATH")) from None


def _here(reason: str) -> str:
    """Return a reason with what is typed here, not in a run's configuration."""
    return reason.replace("subject.format=NAME", "--format NAME")


def _wanted(source: Input, wanted: str | None) -> Trace:
    """Return the trace of that id, or the only one; SelectionError names what there is."""
    ids: list[str] = []
    only: Trace | None = None
    for item in (item for reader in source.readers() for item in contents(reader)):
        if isinstance(item, LoadFailure):
            _tell([item])
        elif wanted is not None and item.id == wanted:
            return item
        else:
            ids.append(visible(item.id))
            only = item
    if wanted is not None:
        raise SelectionError(f"no trace has the id '{visible(wanted)}'{did_you_mean(wanted, ids)}")
    if only is None:
        raise SelectionError("PATH must hold a trace to show (got none that can be read)")
    if len(ids) > 1:
        more = ", …" if len(ids) > NAMED_IDS else ""
        raise SelectionError(
            f"ID must name one of {len(ids)} traces: {', '.join(ids[:NAMED_IDS])}{more}"
        )
    return only


def _table(found: list[FileCount], totals: dict[str, Any]) -> Iterator[str]:
    heads = ("format", "traces", "observations", "tool calls", "errors", "failures", "file")
    keys = ("traces", "observations", "toolCalls", "errors", "failures")
    rows = [
        (str(told["format"] or "unknown"), *(str(told[key]) for key in keys), told["file"])
        for told in (count.to_dict() for count in found)
    ]
    rows.append((f"{len(found)} in all", *(str(totals[key]) for key in keys), ""))
    yield from map(visible, columns([heads, *rows], range(1, 1 + len(keys))))
    if totals["flags"]:
        yield "flags: " + ", ".join(f"{flag} {n}" for flag, n in totals["flags"].items())


def _recognised(count: FileCount) -> bool:
    return count.format is not None


def _code(recognised: Any) -> ExitCode:
    return ExitCode.PASS if any(recognised) else ExitCode.USAGE


def _astray(source: Input) -> dict[str, Any]:
    return {"astray": [_told(failure) for failure in source.astray]} if source.astray else {}


def _told(failure: LoadFailure) -> dict[str, Any]:
    told = {"file": failure.file, "line": failure.line, "reason": _here(failure.reason)}
    return told if failure.byte is None else {**told, "byte": failure.byte}


def _tell(failures: Sequence[LoadFailure]) -> None:
    for failure in failures:
        line = f" line {failure.line}" if failure.line else ""
        byte = f" byte {failure.byte}" if failure.byte is not None else ""
        console.tell(visible(f"{failure.file}{line}{byte}: {_here(failure.reason)}"))


_COMMANDS: dict[str, tuple[str, Callable[[argparse.Namespace], ExitCode]]] = {
    "detect": ("say which format each file is in, and why", _detect),
    "show": ("show one trace as a tree", _show),
    "convert": ("write traces as Helix JSON Lines, or as OTel GenAI spans", _convert),
    "stats": ("count traces, observations, tool calls, errors, flags and failures", _stats),
}
