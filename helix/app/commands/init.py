"""`helix init`: from a file of traces to a subject, a first suite and what to type next."""

from __future__ import annotations

import argparse
import datetime
import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from helix.app import console
from helix.app.conf import groups
from helix.app.job import invoked
from helix.app.launch import located
from helix.discover import Discovered, discover
from helix.errors import ExitCode, SuiteError, TraceError, UsageError
from helix.files import atomic_write
from helix.model.criterion import Criterion, Suite
from helix.reports.summary import listed, unreadable
from helix.reports.visible import one_line, visible
from helix.reports.words import counted, wrapped
from helix.suite import compile
from helix.suite.dumping import suite_page
from helix.suite.load import from_suite

CONF = "conf"
SHOWN = 3
SUFFIXES = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".json.zst", ".jsonl.zst")
MOST_TRACES = 1000
MOST_TOOLS = 200
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,47}")
_STARTER = {
    "criterion_id": "answers",
    "statement": "Pass = the run ends with an answer.",
    "severity": "HIGH",
    "class": "code",
    "code_eval": {"primitive": "presence", "field": "output.response"},
}


def run(argv: Sequence[str]) -> ExitCode:
    """Write the files and print the commands; where a file stands already, nothing is written."""
    args = _parser().parse_args(argv)
    traces = _traces(args.traces)
    name = _named(args.name)
    subject, suite = Path(CONF, "subject", f"{name}.yaml"), Path(f"{name}.suite.yaml")
    for file in (subject, suite):
        if file.exists() or file.is_symlink():
            raise UsageError(
                f"{file} is there already, and nothing was written: move it away, or choose "
                "another --name"
            )
    found = _discovered(traces, args.format, name)
    rows = _rows(found, name)
    try:
        subject.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(suite, suite_page(rows))
        atomic_write(subject, _subject(found, name, traces, args.format))
    except OSError as error:
        raise UsageError(f"{error.filename} cannot be written: {error.strerror}") from error
    told = {
        "subject": str(subject),
        "suite": str(suite),
        "traces": len(found.survey.entries),
        "examined": len(found.examined.traces),
        "unreadable": len(found.survey.load.failures),
        "criteria": len(rows.criteria),
        "found": len(found.rows),
        "next": _next(name, suite, traces),
    }
    if args.json:
        console.say_json(told)
    else:
        console.say(_said(found, told))
    return ExitCode.PASS


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="helix init",
        description="Make a start in this folder: read the traces, by code alone, and write "
        f"{CONF}/subject/NAME.yaml, what is known of the agent, and NAME.suite.yaml, criteria that "
        "see what fails in them; then print the two commands to run next. Nothing is ever "
        f"overwritten. Of more than {MOST_TRACES:,} traces so many are drawn. Exits 0, or 2.",
    )
    parser.add_argument(
        "traces", metavar="TRACES", nargs="?", help="file, folder or glob (the one file here)"
    )
    parser.add_argument("--name", help="what the agent is called (the folder's name)")
    parser.add_argument("--format", default="auto", help="read the traces as this format (auto)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _traces(given: str | None) -> str:
    if given is None:
        here = sorted(p.name for p in Path().iterdir() if p.name.endswith(SUFFIXES) and p.is_file())
        if len(here) != 1:
            found = f"this folder holds {counted(len(here), 'file')} that may be traces"
            told, first = _choice(here)
            raise UsageError(f"{found}{told}; say which: helix init {first}")
        given = here[0]
    if given == "-":
        raise UsageError("TRACES must be a file, folder or glob that is there later (got -)")
    if "${" in given or visible(given) != given:
        raise UsageError(f"TRACES must be a plain path, without ${{ (got {visible(given)!r})")
    return given


def _choice(here: list[str]) -> tuple[str, str]:
    """Name the files that there are, else the folders that hold some, and how to type the first."""
    if here:
        return f": {', '.join(map(one_line, here[:8]))}", shlex.quote(one_line(here[0]))
    folders = sorted(
        p.name
        for p in Path().iterdir()
        if p.is_dir()
        and not (p / "plan.json").is_file()  # which a run holds
        and any(child.name.endswith(SUFFIXES) for child in p.glob("*"))
    )
    if not folders:
        return "", "TRACES"
    names = ", ".join(map(one_line, folders[:8]))
    return f"; in folders below: {names}", shlex.quote(one_line(folders[0]))


def _named(given: str | None) -> str:
    name = given
    if name is None:
        slug = re.sub(r"[^a-z0-9]+", "-", Path.cwd().name.lower()).strip("-")[:48]
        name = slug if _NAME.fullmatch(slug) else "agent"
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"--name must be a-z, 0-9, - and _, beginning with a letter (got {name!r})"
        )
    if name in groups()["subject"]:
        raise UsageError(f"--name must not be a subject that Helix brings along (got {name})")
    return name


def _discovered(traces: str, format: str, name: str) -> Discovered:
    with tempfile.TemporaryDirectory(prefix="helix-") as folder:
        words = [
            f"subject.traces={traces}",
            f"subject.format={format}",
            f"subject.name={name}",
            "judge=none",
            "sampling=random",
            f"sampling.n={MOST_TRACES}",
            "discover.living=false",
            "discover.preferences=false",
            f"paths.state={folder}",
        ]
        config, _ = located("discover", words)
        now = datetime.datetime.now(datetime.UTC)
        try:
            found = discover(config, run_dir=Path(folder, "run"), now=now)
        except TraceError as error:
            raise UsageError(str(error).replace("subject.traces", "TRACES")) from None
    if not found.survey.entries:
        why = next((f": {f.file}: {f.reason}" for f in found.survey.load.failures), "")
        raise UsageError(f"TRACES holds no trace that can be read{visible(why)}")
    return found


def _rows(found: Discovered, name: str) -> Suite:
    """Return what was found as a suite, or a first row to start from."""
    rows = tuple(row.criterion for row in found.rows) or (Criterion.model_validate(_STARTER),)
    suite = Suite(suite=name, criteria=rows)
    try:
        from helix.registry import load

        compile(from_suite(suite), load())
    except SuiteError as error:
        raise SuiteError(f"what was found makes no suite: {error}") from error
    return suite


def _subject(found: Discovered, name: str, traces: str, format: str) -> bytes:
    seen = sorted(found.survey.calling)
    tools = [tool for tool in seen if visible(tool) == tool and "${" not in tool][:MOST_TOOLS]
    known: dict[str, object] = {"name": name, "traces": traces}
    known |= {} if format == "auto" else {"format": format}
    known |= {"tools": tools} if tools else {}
    lines = [
        f"# The agent {name}, for `--config-dir {CONF} subject={name}`. More that helps a judge:",
        "# purpose, scope, skill, harness, version, events, routes (helix evaluate --help).",
    ]
    if tools:
        lines.append("# tools are those that the traces call; add those that it has besides.")
    text = yaml.safe_dump(known, sort_keys=False, allow_unicode=True, width=100)
    return ("\n".join(lines) + "\n" + text).encode()


def _next(name: str, suite: Path, traces: str) -> list[str]:
    """Return the two commands that go on from here: evaluate, and try the rows themselves."""
    own = ["--config-dir", CONF, f"subject={name}", f"criteria.file={suite}", "judge=none"]
    tried = ["criteria", "test", str(suite), "--traces", traces]
    return [shlex.join([*invoked(), "evaluate", *own]), shlex.join([*invoked(), *tried])]


def _said(found: Discovered, told: dict[str, object]) -> str:
    return "\n".join(_lines(found, told))


def _lines(found: Discovered, told: dict[str, object]) -> Iterator[str]:
    formats = sorted({entry.format for entry in found.survey.entries})
    traces = counted(len(found.survey.entries), "trace")
    yield f"{traces} ({', '.join(formats)}), {len(found.examined.traces):,} of them examined"
    reasons = unreadable(found.survey.load.failures)
    for many, reason, places in reasons[:SHOWN]:
        yield visible(f"not read: {many}: {reason}")
        yield f"  {visible(listed(places, SHOWN, None))}"
    if len(reasons) > SHOWN:
        yield f"and for {counted(len(reasons) - SHOWN, 'more reason')}"
    yield f"wrote {told['subject']}"
    if found.rows:
        n = counted(len(found.rows), "criterion", "criteria")
        yield f"wrote {told['suite']}: {n}, from what code saw fail"
        they, them = ("It says", "it") if len(found.rows) == 1 else ("They say", "them")
        yield from wrapped(f"{they} what failed, not what you want: read {them}, and add yours.")
    else:
        seen = found.emergent.every
        saw = "what failed makes no row" if seen else "code saw nothing fail"
        yield f"wrote {told['suite']}: {saw}, so one row to start from"
    yield from _beside(found)
    yield "Next:"
    commands = told["next"]
    assert isinstance(commands, list)
    yield from (f"  {command}" for command in commands)


def _beside(found: Discovered) -> Iterator[str]:
    """Tell what failed and is no row, as it is a matter of the tools or of the surroundings."""
    for kind in [k for k in found.emergent.every if k.fix_or_eval != "eval"][:SHOWN]:
        yield from wrapped(
            visible(f"{kind.name}: {kind.k} of {kind.n} traces; to {kind.fix_or_eval}, so no row")
        )
