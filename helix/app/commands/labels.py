"""`helix labels import|check|agreement|serve`: what people say of traces, for `helix validate`."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from helix.app import console
from helix.app.arguments import Subcommands
from helix.app.plugins import registry
from helix.errors import ExitCode, LabelError, UsageError
from helix.labels import WORDS, Agreement, Label, agreement, check, read, settle
from helix.labels.files import LabelFile, Problem, Row, raise_problems, write
from helix.labels.importing import Imported, Rules, joined, keys, take
from helix.labels.store import holding
from helix.reports.visible import visible
from helix.reports.words import columns, counted, wrapped

_UNDEFINED = "undefined"


def run(argv: Sequence[str]) -> ExitCode:
    """Run one of the four; each says how it exits."""
    parser = argparse.ArgumentParser(
        prog="helix labels",
        description="Labels that people give: bring in, check, compare, give.",
        formatter_class=Subcommands,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_import(commands)
    _add_check(commands)
    _add_agreement(commands)
    _add_serve(commands)
    args = parser.parse_args(argv)
    handler: Callable[[argparse.Namespace], ExitCode] = args.handler
    try:
        return handler(args)
    except LabelError as error:
        raise LabelError(visible(str(error))) from error


def _add_import(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "import",
        help="bring labels in from elsewhere",
        description="Write what a source holds into a label file. Labels that stand there stay; "
        "where anything is wrong, every problem is told and nothing is written. Exits 0, or 2.",
    )
    command.add_argument("source", metavar="SOURCE", help=", ".join(registry().items("labels")))
    command.add_argument("path", metavar="PATH", nargs="+", help="what the source reads")
    command.add_argument("--out", metavar="FILE", required=True, help="the label file")
    text = "what a key of the source is about; a * stands for any text"
    command.add_argument("--map", metavar="KEY=CRITERION", action="append", default=[], help=text)
    text = "what a value means: pass, fail, cannot-decide or skip; KEY:VALUE=LABEL for one key"
    command.add_argument("--value", metavar="VALUE=LABEL", action="append", default=[], help=text)
    text = "who labelled, where the source does not tell"
    command.add_argument("--rater", metavar="NAME", help=text)
    text = "take what a KIND of rater that is no person gave, e.g. API"
    command.add_argument("--include", metavar="KIND", action="append", default=[], help=text)
    text = "label mapped criteria so on traces that the source speaks of without them"
    command.add_argument("--absent", metavar="LABEL", choices=WORDS, help=text)
    _add_known(command)
    text = "leave out labels of traces that are not among --traces"
    command.add_argument("--known-only", action="store_true", help=text)
    command.set_defaults(handler=_import)


def _add_check(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "check",
        help="say what is wrong with label files, and what is in them",
        description="Check label files: every row, cells that one rater labelled twice, and ids "
        "that are unknown. Exits 0, 1 if something is wrong, 2 if a file cannot be read.",
    )
    command.add_argument("file", metavar="FILE", nargs="+", help="label files")
    _add_known(command)
    command.set_defaults(handler=_check)


def _add_agreement(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "agreement",
        help="say how far raters agree",
        description="Say how far raters agree on the cells that two or more of them labelled, "
        "over all and per criterion, and which cells are disputed. Exits 0, or 2.",
    )
    command.add_argument("file", metavar="FILE", nargs="+", help="label files")
    text = "labels that were settled after a dispute; they stand"
    command.add_argument("--adjudicated", metavar="FILE", action="append", default=[], help=text)
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(handler=_agreement)


def _add_serve(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = commands.add_parser(
        "serve",
        help="label on a page in the browser",
        description="Serve a page to label on, to this machine alone, at an address with a token. "
        "Every label is on disk before the page moves on; the same command goes on where it "
        "stopped. Without --criterion, the rows are those that a judge decides, or all where "
        "there is none. Ctrl-C ends it. Exits 0, or 2.",
    )
    command.add_argument("--traces", metavar="PATH", required=True, help="what is labelled")
    command.add_argument("--format", default="auto", help="read as this format (auto)")
    command.add_argument("--suite", metavar="SUITE", required=True, help="the YAML file")
    command.add_argument("--labels", metavar="FILE", required=True, help="the rater's label file")
    command.add_argument("--rater", metavar="NAME", required=True, help="who labels")
    text = "a row to label; may be given several times"
    command.add_argument("--criterion", metavar="ID", action="append", default=[], help=text)
    text = "a run's folder: what its judge said is told once a cell is labelled"
    command.add_argument("--run", metavar="RUN", help=text)
    text = "tell what the judge said before a cell is labelled, too"
    command.add_argument("--no-blind", action="store_true", help=text)
    command.add_argument("--port", type=int, default=0, help="on this port (any free one)")
    command.add_argument("--open", action="store_true", help="open it in the browser")
    command.add_argument("--json", action="store_true", help="print the address as JSON")
    command.set_defaults(handler=_serve)


def _add_known(command: argparse.ArgumentParser) -> None:
    text = "the traces that there are: file, folder or glob"
    command.add_argument("--traces", metavar="PATH", help=text)
    command.add_argument("--suite", metavar="SUITE", help="the criteria that there are: YAML file")
    command.add_argument("--json", action="store_true", help="print JSON")


def _import(args: argparse.Namespace) -> ExitCode:
    source = registry().get("labels", args.source)
    if args.known_only and not args.traces:
        raise UsageError("--known-only needs --traces PATH, which says what is known")
    traces, criteria = _known(args)
    rules = Rules(
        maps=args.map or source.maps,
        values=args.value,
        rater=args.rater,
        include=args.include,
        absent=args.absent,
        known=traces,
        known_only=args.known_only,
    )
    found = [take(path, source.read(_place(args.source, path)), rules) for path in args.path]
    with holding(args.out):
        rows, again = _joined(args, found, traces, criteria)
        write(_writable(args.out), [row.label for row in rows])
    new = sum(len(part.rows) for part in found)
    told = _told(args.out, rows, new - again, again, found)
    if args.json:
        _say_json(told)
    else:
        console.say("\n".join(_import_lines(told)))
    for problem in (problem for part in found for problem in part.unread):
        console.tell(visible(str(problem)))
    return ExitCode.PASS


def _joined(
    args: argparse.Namespace,
    found: Sequence[Imported],
    traces: Collection[str] | None,
    criteria: Collection[str] | None,
) -> tuple[list[Row], int]:
    """Return what the label file is to hold, and how many of the labels it holds already."""
    kept = read(args.out) if Path(args.out).exists() else LabelFile((), ())
    new = [row for part in found for row in part.rows]
    rows, again = joined(new, kept.rows)
    problems = [*kept.problems, *(problem for part in found for problem in part.problems)]
    problems += check(rows, traces=traces, criteria=criteria)
    raise_problems(sorted(problems, key=lambda problem: (problem.file, problem.row)))
    if not new:
        raise LabelError(_nothing(args, found))
    return rows, again


def _check(args: argparse.Namespace) -> ExitCode:
    traces, criteria = _known(args)
    found = read(args.file)
    problems = [*found.problems, *check(found.rows, traces=traces, criteria=criteria)]
    place = {path: at for at, path in enumerate(args.file)}
    problems.sort(key=lambda problem: (place[problem.file], problem.row))
    labels = [row.label for row in found.rows]
    if args.json:
        told = [{"file": p.file, "row": p.row, "text": p.text} for p in problems]
        _say_json({"labels": len(labels), "criteria": _counts(labels), "problems": told})
    else:
        for problem in problems:
            console.say(visible(f"error: {problem}"))
        console.say("\n".join(_check_lines(labels, problems)))
    return ExitCode.FAIL if problems else ExitCode.PASS


def _agreement(args: argparse.Namespace) -> ExitCode:
    labels = _sound(args.file)
    settled = settle(labels, _sound(args.adjudicated))
    figures = agreement(labels)
    if args.json:
        told = [_figures(item) for item in figures]
        cells = [cell._asdict() for cell in settled.disputed]
        sums = {"settled": len(settled.labels), "adjudicated": settled.adjudicated}
        _say_json({"agreement": told, **sums, "disputed": cells})
        return ExitCode.PASS
    console.say(visible("\n".join(_agreement_lines(figures))))
    for cell in settled.disputed:
        console.say(visible(f"disputed: {cell.trace}, {cell.criterion}"))
    last = (
        f"{counted(len(settled.labels), 'cell')} settled, {settled.adjudicated} of them by "
        f"adjudication; {len(settled.disputed)} disputed, which count for nothing"
    )
    console.say("\n".join(wrapped(last)))
    return ExitCode.PASS


def _serve(args: argparse.Namespace) -> ExitCode:
    from helix.app.labelling import serve

    return serve(args)


def _sound(paths: Sequence[str]) -> list[Label]:
    found = read(paths)
    raise_problems([*found.problems, *check(found.rows)])
    return [row.label for row in found.rows]


def _known(args: argparse.Namespace) -> tuple[Collection[str] | None, Collection[str] | None]:
    """Return the ids of the traces and of the criteria, each None where it was not given."""
    traces = criteria = None
    if args.suite:
        from helix.app.tried import suite_file
        from helix.suite import load

        criteria = [row.criterion_id for row in load(suite_file(args.suite)).criteria]
    if args.traces:
        from helix.app.traces_of import ids

        traces = ids(args.traces)
    return traces, criteria


def _place(source: str, path: str) -> str:
    """Return what a source reads: of a demo, the traces that its name stands for."""
    if source != "traces":
        return path
    from helix.app.tried import traces_path

    return traces_path(path)


def _writable(path: str) -> Path:
    file = Path(path)
    if not file.parent.is_dir():
        raise UsageError(f"--out must be in a folder that exists (got '{path}')")
    return file


def _nothing(args: argparse.Namespace, found: Sequence[Imported]) -> str:
    told = [line for part in found for line in keys(part)]
    reasons = [f"{n} {reason}" for reason, n in _left_out(found).items()]
    more = f" and {len(args.path) - 1} more" if len(args.path) > 1 else ""
    lead = f"{args.path[0]}{more}: no label was taken"
    if told:
        lead += f"; say with --map KEY=CRITERION what a key is about (found: {', '.join(told)})"
    return lead + (f"; left out: {', '.join(reasons)}" if reasons else "")


def _left_out(found: Sequence[Imported]) -> dict[str, int]:
    return dict(sum((part.left_out for part in found), Counter[str]()))


def _told(
    out: str, rows: Sequence[Any], new: int, again: int, found: Sequence[Imported]
) -> dict[str, Any]:
    unmapped = sum((part.unmapped for part in found), Counter[str]())
    return {
        "out": out,
        "new": new,
        "alreadyThere": again,
        "labels": len(rows),
        "criteria": _counts([row.label for row in rows]),
        "leftOut": _left_out(found),
        "unmapped": dict(unmapped.most_common()),
        "unread": sum(len(part.unread) for part in found),
    }


def _import_lines(told: dict[str, Any]) -> Iterator[str]:
    yield from _table(told["criteria"])
    for reason, count in told["leftOut"].items():
        yield visible(f"left out: {counted(count, 'label')} {reason}")
    if told["unmapped"]:
        names = list(told["unmapped"])
        more = ", …" if len(names) > 8 else ""
        count = sum(told["unmapped"].values())
        told_of = f"not mapped: {counted(count, 'value')} ({', '.join(names[:8])}{more})"
        yield from wrapped(visible(told_of))
    if told["unread"]:
        yield f"not read: {counted(told['unread'], 'record')}"
    already = f", {told['alreadyThere']} already there" if told["alreadyThere"] else ""
    yield visible(f"{counted(told['new'], 'label')} imported{already}; {told['out']} holds "
                  f"{told['labels']:,}")  # fmt: skip


def _check_lines(labels: Sequence[Label], problems: Sequence[Problem]) -> Iterator[str]:
    yield from _table(_counts(labels))
    raters = sorted({label.rater for label in labels})
    traces = len({label.trace for label in labels})
    who = f" by {', '.join(raters)}" if raters else ""
    yield visible(f"{counted(len(labels), 'label')} on {counted(traces, 'trace')}{who}; "
                  f"{counted(len(problems), 'problem')}")  # fmt: skip


def _counts(labels: Sequence[Label]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for label in sorted(labels, key=lambda label: label.criterion):
        counts = found.setdefault(label.criterion, dict.fromkeys(WORDS, 0))
        counts[label.label] += 1
    return found


def _table(counts: dict[str, dict[str, int]]) -> Iterator[str]:
    if counts:
        width = max(len(name) for name in [*counts, "criterion"])
        yield f"{'criterion':<{width}}  {'  '.join(WORDS)}"
        for name, row in counts.items():
            cells = "  ".join(f"{row[word]:>{len(word)}}" for word in WORDS)
            yield visible(f"{name:<{width}}  {cells}")


def _figures(item: Agreement) -> dict[str, Any]:
    return {
        "criterion": item.criterion,
        "raters": list(item.raters),
        "cells": item.cells,
        "agreed": item.agreed,
        "cohenKappa": item.cohen,
        "fleissKappa": item.fleiss,
        "krippendorffAlpha": item.krippendorff,
        "gwetAc1": item.ac1,
        "disagreements": [cell._asdict() for cell in item.disagreements],
    }


def _agreement_lines(figures: Sequence[Agreement]) -> Iterator[str]:
    heads = ("criterion", "agreed", "Cohen κ", "Fleiss κ", "Krippendorff α", "AC1")
    rows = [
        (
            item.criterion or "all",
            f"{item.agreed}/{item.cells}",
            *(
                _UNDEFINED if value is None else f"{value:.3f}"
                for value in (item.cohen, item.fleiss, item.krippendorff, item.ac1)
            ),
        )
        for item in figures
    ]
    yield from columns([heads, *rows], range(1, len(heads)))


def _say_json(value: Any) -> None:
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    console.say_bytes(text.encode("utf-8", "backslashreplace") + b"\n")
