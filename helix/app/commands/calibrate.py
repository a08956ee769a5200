"""`helix calibrate`: what a run left undecided, what people decide of it, and the log of both."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from helix.app import calibrating, console
from helix.app.arguments import Subcommands
from helix.app.calibrating import Sitting
from helix.app.suite_rows import STATE, day
from helix.calibrate import ACTIONS, act, apply, queue, record, replay
from helix.errors import ExitCode, UsageError
from helix.model.calibration import Action, Entry
from helix.model.criterion import Criterion
from helix.premises import premises
from helix.suite.living import changed_fields

Handler = Callable[[argparse.Namespace], ExitCode]
_DOES: dict[Action, str] = {
    "re-ground": "ask again with more of the trace: write the suite that does, and its command",
    "ratify": "say what the norm is: it enters the questions of later runs as a premise",
    "re-scope": "change what the row asks, or of which traces",
    "verify": "state a fact, or a verdict on one trace; the criterion joins the living suite",
    "eliminate": "say that an assumption does not hold; its criterion is asked again",
    "withdraw": "take back a premise",
    "retire": "give the criterion up: its row becomes a tombstone of the living suite",
}


def run(argv: Sequence[str]) -> ExitCode:
    """Run one of them; each exits 0, or 2 where the state table does not have the transition."""
    parser = argparse.ArgumentParser(
        prog="helix calibrate",
        description="Decide what a run could not: list its undecided cells by who can unblock "
        "them, and act on them. Every action is checked against the table of states and logged "
        "with who, when and why under paths.state/calibration. Exits 0, or 2 where an action is "
        "not possible.",
        formatter_class=Subcommands,
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    found = _command(commands, "queue", _queue, "list what people can decide about a run")
    found.add_argument("run", metavar="RUN", help="the folder of a finished run")
    found = _command(commands, "record", _record, "note in the log how criteria came out of a run")
    found.add_argument("run", metavar="RUN", help="the folder of a finished run")
    found.add_argument("--at", metavar="DATE", help="when (today)")
    for action in ACTIONS:
        _add_action(commands, action)
    found = _command(commands, "log", _log, "print every transition, who made it, when and why")
    found.add_argument("id", metavar="ID", nargs="?", help="of this criterion alone")
    _command(commands, "premises", _premises, "print what enters the questions of later runs")
    args = parser.parse_args(argv)
    handler: Handler = args.handler
    return handler(args)


def _command(commands: Any, name: str, handler: Handler, text: str) -> argparse.ArgumentParser:
    found: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[:1].upper() + text[1:] + "."
    )
    found.add_argument("--state", metavar="FOLDER", help=f"paths.state (the run's, or {STATE})")
    found.add_argument("--json", action="store_true", help="print JSON")
    found.set_defaults(handler=handler, run=None, suite=None)
    return found


def _add_action(commands: Any, action: Action) -> None:
    found = _command(commands, action, _act, _DOES[action])
    found.set_defaults(action=action)
    found.add_argument("id", metavar="ID", help="the criterion")
    text = "the run that left it undecided; how it came out is noted first"
    found.add_argument("--run", metavar="RUN", help=text)
    found.add_argument("--suite", metavar="SUITE", help="the suite of its row (the run's)")
    found.add_argument("--by", metavar="NAME", required=True, help="who decides")
    found.add_argument("--why", metavar="TEXT", required=True, help="why")
    found.add_argument("--at", metavar="DATE", help="when (today)")
    if action == "re-ground":
        text = "a place of the trace that the row is to read besides; repeat it for more"
        found.add_argument("--field", metavar="PATH", action="append", required=True, help=text)
    elif action == "ratify":
        found.add_argument("--norm", metavar="TEXT", required=True, help="the norm, in a sentence")
    elif action == "re-scope":
        _add_scope(found)
    elif action == "verify":
        found.add_argument("--fact", metavar="TEXT", help="what is so, in a sentence")
        found.add_argument("--trace", metavar="ID", help="the one trace that it is about")
        found.add_argument("--result", choices=["pass", "fail"], help="the verdict on that trace")
    elif action == "eliminate":
        text = "the assumption, in its own words"
        found.add_argument("--assumption", metavar="TEXT", required=True, help=text)
        found.add_argument("--trace", metavar="ID", help="the one trace that it is about")
    elif action == "withdraw":
        found.add_argument("--premise", metavar="ID", required=True, help="its id")


def _add_scope(command: argparse.ArgumentParser) -> None:
    for name in ("statement", "pass-condition", "fail-condition", "route"):
        command.add_argument(f"--{name}", metavar="TEXT", help=f"the new {name.replace('-', ' ')}")
    text = "what the row reads, instead of what it read; repeat it for more"
    command.add_argument("--judge-input", metavar="PATH", action="append", help=text)
    text = "the row may apply to no trace at all"
    command.add_argument("--may-not-apply", action="store_true", default=None, help=text)


def _queue(args: argparse.Namespace) -> ExitCode:
    sitting = Sitting.open(args)
    found = queue(
        sitting.files.lines(), sitting.files.scorecard().criteria, replay(sitting.desk.log)
    )
    if args.json:
        console.say_json(calibrating.queue_json(found))
    else:
        console.say("\n".join(calibrating.queue_lines(found, str(args.run))))
    return ExitCode.PASS


def _record(args: argparse.Namespace) -> ExitCode:
    sitting = Sitting.open(args)
    after = record(sitting.desk, sitting.files.lines(), sitting.plan_digest, at=day(args.at))
    if after != sitting.desk:
        apply(sitting.state, after)
    fresh = after.log[len(sitting.desk.log) :]
    if args.json:
        told = {"log": sitting.log_file, "entries": [msgspec.to_builtins(e) for e in fresh]}
        console.say_json(told)
    else:
        lines = list(calibrating.log_lines(after.log, fresh))
        console.say("\n".join(lines or ["nothing new: the log knows how this run came out"]))
    return ExitCode.PASS


def _act(args: argparse.Namespace) -> ExitCode:
    sitting, at = Sitting.open(args), day(args.at)
    desk = sitting.desk
    if sitting.run is not None:
        desk = record(desk, sitting.files.lines(), sitting.plan_digest, at=at, only=args.id)
    row = sitting.row(args.id)
    after = _rescoped(args, row) if args.action == "re-scope" else None
    if after is not None:
        sitting.check(after)
    entry = _entry(args, at, row, after)
    rerun = None
    done = act(desk, entry, row, after, version=sitting.subject_version)
    if args.action == "re-ground":
        rerun = sitting.reground(row, entry.fields)
    apply(sitting.state, done)
    told = calibrating.told(sitting, desk, done, rerun)
    if args.json:
        console.say_json(told)
    else:
        console.say("\n".join(calibrating.told_lines(told, entry)))
    return ExitCode.PASS


def _entry(args: argparse.Namespace, at: str, row: Criterion, after: Criterion | None) -> Entry:
    entry = Entry(criterion_id=args.id, action=args.action, by=args.by, at=at, why=args.why)
    more: dict[str, Any] = {}
    match args.action:
        case "re-ground":
            more = {"fields": tuple(args.field)}
        case "ratify":
            more = {"text": args.norm, "kind": "normative"}
        case "re-scope":
            more = {"fields": changed_fields(row, after or row)}
        case "verify":
            if args.fact is None and (args.trace is None or args.result is None):
                raise UsageError("verify takes --fact TEXT, or --trace ID with --result pass|fail")
            if args.fact is not None and args.result is not None:
                raise UsageError("verify takes --fact or --result, one at a time (got both)")
            more = {"text": args.fact, "trace_id": args.trace, "result": args.result}
            more["kind"] = "factual-intent" if args.fact else None
        case "eliminate":
            more = {"text": args.assumption, "trace_id": args.trace, "kind": "factual-intent"}
        case "withdraw":
            more = {"premise": args.premise}
    return msgspec.structs.replace(entry, **more)


def _rescoped(args: argparse.Namespace, row: Criterion) -> Criterion:
    given = {
        "statement": args.statement,
        "pass_condition": args.pass_condition,
        "fail_condition": args.fail_condition,
        "route": args.route,
        "judge_inputs": tuple(args.judge_input) if args.judge_input else None,
        "may_not_apply": args.may_not_apply,
    }
    after = row.model_copy(update={k: v for k, v in given.items() if v is not None})
    if after == row:
        raise UsageError("re-scope must change something: add --statement, --route or another")
    return after


def _log(args: argparse.Namespace) -> ExitCode:
    log = Sitting.open(args).desk.log
    chosen = [entry for entry in log if args.id in (None, entry.criterion_id)]
    if args.json:
        told = [msgspec.to_builtins(entry) for entry in chosen]
        console.say_json({"entries": told, "states": replay(log)})
    else:
        console.say("\n".join(calibrating.log_lines(log, chosen)) or "the log is empty")
    return ExitCode.PASS


def _premises(args: argparse.Namespace) -> ExitCode:
    found = premises(Sitting.open(args).desk.log)
    if args.json:
        told = [msgspec.to_builtins(premise) for premise in found]
        console.say_json({"premises": told})
    else:
        console.say(
            "\n".join(map(calibrating.premise_line, found)) or "nobody vouches for anything"
        )
    return ExitCode.PASS
