"""`helix report RUN`: a finished run's reports again; `helix report compare A B`: two runs."""

from __future__ import annotations

import argparse
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from helix.app import console, merged, serving
from helix.app.arguments import verbosity_flags, verbosity_words
from helix.app.commands.discover import next_lines
from helix.app.quoting import quoted
from helix.app.rendering import ordered, place_of, project, render_found, renderers
from helix.app.tried import traces_path
from helix.errors import ConfigError, ExitCode, UsageError
from helix.files import held
from helix.model.config import Config, ReportConfig
from helix.model.plan import Plan
from helix.registry import Registry, Renderer, load
from helix.reports.again import finished, run_again
from helix.reports.compared import comparison_json, comparison_text
from helix.reports.comparison import compare
from helix.reports.discovery_again import discovery_again, is_discovery
from helix.reports.textpage import for_this_console
from helix.reports.visible import visible

JSON = "json"
_PLAIN = re.compile(r"[A-Za-z0-9_.:/@+-]+")


def run(argv: Sequence[str]) -> ExitCode:
    """Make reports again, or what the first word of `BEHIND` says; see the help of each."""
    behind = BEHIND.get(argv[0]) if argv else None
    return behind(argv[1:]) if behind else _again(argv)


def _again(argv: Sequence[str]) -> ExitCode:
    parser = argparse.ArgumentParser(
        prog="helix report",
        usage="helix report RUN [report.out=[NAME,…]] [--to NAME=PATH] [--traces PATH]\n"
        "                        [--json] [-q|-v]\n"
        "       helix report compare A B [--json] [-q|-v]\n"
        "       helix report merge RUN… --out DIR [--json]\n"
        "       helix report serve RUN [--port PORT] [--traces PATH] [--open]\n"
        "                              [--json]",
        description="Make the reports of a finished run again from its folder: on the terminal, "
        "or those that report.out names, where the run would have put them. Nothing is judged. A "
        "suite or trace that has changed since is told, and the report goes without its text. "
        "`helix report compare A B` compares two runs, `helix report merge RUN… --out DIR` makes "
        "one run of its shards, `helix report serve RUN` serves it to this machine, while it is "
        "being written too; `helix plugins` lists report formats. Exits 0, 2 for usage, 4 if a "
        "report could not be made.",
    )
    add = parser.add_argument
    add("words", metavar="RUN", nargs="*", help="the folder of a finished run, and KEY=VALUE")
    add("--to", metavar="NAME=PATH", action="append", default=[], help="this format to this file")
    add("--traces", metavar="PATH", help="where the run's traces are now")
    add("--json", action="store_true", help="print the report as JSON instead of for a terminal")
    verbosity_flags(parser)
    args = parser.parse_intermixed_args(argv)
    if not args.words:
        parser.error("RUN is missing: the folder of a finished run")
    config = _config([*args.words[1:], *verbosity_words(args)], args.to, as_json=args.json)
    known, folder = load(), Path(args.words[0])
    if not is_discovery(folder):
        finished(args.words[0])
    with held(folder, otherwise="wait until the run that writes to it has ended"):
        output, code, notes = _rendered(args, config, known)
    console.say_bytes(output)
    for note in notes:
        console.tell(visible(f"helix: {note}"))
    return code


def _rendered(
    args: argparse.Namespace, config: Config, known: Registry
) -> tuple[bytes, ExitCode, list[str]]:
    """Make the reports; return what goes to standard output, and what was not to be had."""
    folder, report = Path(args.words[0]), config.report
    traces = traces_path(args.traces) if args.traces else None
    if is_discovery(folder):
        wanted = _wanted(report, known, discovery=True, as_json=args.json)
        again = discovery_again(folder, known, traces=traces)
        existing = [] if args.json else _existing(again.plan, known, folder)
        record, place = again.report.record, again.plan.runs.get("traces")
        after: list[str] = []
        if record.criteria and not record.triage.pending:
            after = next_lines(folder, again.living, len(again.grown), place)
        view = replace(again.report, after=tuple(after))
        return *render_found(view, wanted, folder, report, existing), again.notes
    files = finished(args.words[0])
    wanted = _wanted(report, known, discovery=False, as_json=args.json)
    found = run_again(files, known, traces=traces, modules=config.checks.modules)
    existing = [] if args.json else _existing(files.plan(), known, folder)
    return *project(found.run, found.whole, wanted, folder, report, existing), found.notes


def _config(settings: Sequence[str], to: Sequence[str], *, as_json: bool) -> Config:
    from helix.app.launch import configured

    for word in settings:
        if not word.startswith(("report.", "checks.modules=")):
            raise ConfigError(
                f"helix report takes report.out=, report.to.NAME= and checks.modules= (got {word})"
            )
    # A run's own configuration is in its plan; these two are asked of everybody.
    config = configured("evaluate", ["subject.traces=-", "criteria.file=-", *settings])
    given = any(word.startswith("report.out=") for word in settings)
    places = {**config.report.to}
    for pair in to:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise UsageError(f"--to must be NAME=PATH (got {pair})")
        places[name] = path
    default = () if places or as_json else ("terminal",)
    out = config.report.out if given else default
    report = config.report.model_copy(update={"out": tuple(out), "to": places})
    return config.model_copy(update={"report": report})


def _wanted(
    config: ReportConfig, known: Registry, *, discovery: bool, as_json: bool
) -> list[Renderer]:
    wanted = renderers(config, known, discovery=discovery)
    if not as_json:
        return wanted
    shown = [item for item in wanted if item.filename is not None or item.name in config.to]
    return [*shown, _to_output(known.get("renderers", JSON))]


def _to_output(item: Renderer) -> Renderer:
    return replace(item, name=f"{item.name} on standard output", filename=None)


def _existing(plan: Plan, known: Registry, folder: Path) -> list[str]:
    """Return where the run wrote its reports, in the order in which it did."""
    config = ReportConfig.model_validate(plan.runs.get("report") or {})
    names = known.items("renderers")
    wanted = [names[n].item for n in dict.fromkeys([*config.out, *config.to]) if n in names]
    written = wanted if is_discovery(folder) else ordered(wanted)
    places = [place_of(item, folder, config) for item in written]
    return [os.fspath(file) for file in places if file is not None]


def _compare(argv: Sequence[str]) -> ExitCode:
    parser = argparse.ArgumentParser(
        prog="helix report compare",
        description="Compare two finished runs cell by cell, joined by trace id and criterion id: "
        "first what was asked otherwise, then what is broken, newly undecided, newly decided and "
        "fixed, with paired statistics. A row that is another question now is marked and left out "
        "of the statistics. Exits 0 if nothing got worse; 1 if a cell fails that did not, or is "
        "undecided that passed or did not apply, on a row and trace of both runs; 3 if they share "
        "no cell; 2 for usage.",
    )
    parser.add_argument("before", metavar="A", help="the folder of the earlier run")
    parser.add_argument("after", metavar="B", help="the folder of the later run")
    parser.add_argument("--json", action="store_true", help="print JSON")
    verbosity_flags(parser)
    args = parser.parse_args(argv)
    found = compare(finished(args.before), finished(args.after))
    names = (args.before, args.after)
    if args.json:
        for part in comparison_json(found, names):
            console.say_bytes(part.encode("ascii"))
    else:
        text = partial(comparison_text, found, names, _selector, args.verbosity or "normal")
        console.say_bytes(for_this_console(text))
    if found.worse:
        return ExitCode.FAIL
    return ExitCode.PASS if sum(found.counts.values()) else ExitCode.INCOMPLETE


def _selector(criterion: str, traces: Sequence[str]) -> str:
    return shlex.join([f"select.criteria={_texts([criterion])}", f"select.traces={_texts(traces)}"])


def _texts(names: Sequence[str]) -> str:
    """Return a list of names as it is typed; globs' characters in a name match themselves."""
    plain = [name if _PLAIN.fullmatch(name) else quoted(name) for name in names]
    return plain[0] if len(plain) == 1 and plain[0] == names[0] else f"[{','.join(plain)}]"


BEHIND: Final = {"compare": _compare, "merge": merged.run, "serve": serving.run}
"""What the words behind `helix report` run; any other is a finished run."""
