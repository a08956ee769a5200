"""`helix`: the first word is the command; everything else is imported when it is needed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import helix
from helix.app import console, failures
from helix.errors import ExitCode, UsageError, unknown
from helix.reports.words import columns, width, wrapped

HYDRA = {
    "audit": "execute a run several times and say what varies; diff, injection, variance",
    "build-dataset": "put what fails or is undecided in runs into a dataset with splits",
    "build-evals": "ask every row by itself, and write each row's judge and the suite",
    "discover": "find what fails in traces, and criteria that see it again",
    "evaluate": "recorded traces and a suite to verdicts, a gate and an exit code",
    "improve": "measure an agent over repeats, ask for changes, and measure it again",
    "validate": "hold a judge's verdicts against people's labels",
}
PLAIN = {
    "answer": "answer dispatched questions here, piece by piece, each citation looked up",
    "cache": "the kept judge replies: count, verify, export, import, merge, prune",
    "calibrate": "decide what a run could not, and keep who decided it and why",
    "criteria": "lint, explain, test, list and compare rows; ratify and retire them",
    "doctor": "say whether Helix can work here, and what to type where it cannot",
    "init": "from a file of traces: a subject, a first suite, and what to type next",
    "labels": "bring in, check and compare people's labels, or give them on a page",
    "memory": "keep what operators say of Helix and of themselves, one fact a file",
    "plugins": "list what is registered, explain one item; new writes a plugin",
    "report": "make the reports of a finished run again, or compare two runs cell by cell",
    "schema": "print the JSON Schema of a file that Helix reads or writes",
    "traces": "say what trace files hold: detect, show, convert, stats",
}
_HINT = "helix COMMAND --help explains a command; helix --version says which Helix this is."
AUDITS = ("diff", "injection", "variance")
"""The words behind `audit` that make it a plain command."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; messages go to standard error."""
    console.prepare()
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        return int(_dispatched(words))
    except KeyboardInterrupt:
        console.tell("helix: interrupted; the same command goes on where it stopped")
        return int(ExitCode.INTERRUPTED)
    except SystemExit as ended:
        # From argparse, which has said why.
        return ended.code if isinstance(ended.code, int) else int(ExitCode.USAGE)
    except Exception as error:
        return int(failures.told(error))


def _dispatched(words: list[str]) -> ExitCode:
    if not words:
        console.tell(_overview())
        return ExitCode.USAGE
    first, rest = words[0], words[1:]
    if first in ("-h", "--help", "help"):
        console.say(_overview())
        return ExitCode.PASS
    if first == "--version" or (first in HYDRA and "--version" in rest):
        console.say(f"helix {helix.__version__}")
        return ExitCode.PASS
    if first in ("-sc", "--shell-completion"):
        return ExitCode(_launch().complete(words, list(HYDRA)))
    if first == "audit" and rest[:1] and rest[0] in AUDITS:
        return _plain("audits", rest)
    if first == "audit" and rest[:1] and rest[0].isalpha():
        raise UsageError(unknown("audit", rest[0], AUDITS))
    if first in HYDRA:
        return _hydra(first, rest)
    if first in PLAIN:
        return _plain(first, rest)
    raise UsageError(unknown("command", first, [*HYDRA, *PLAIN], "helix --help"))


def _hydra(command: str, rest: list[str]) -> ExitCode:
    if "-h" in rest or "--help" in rest:
        from helix.app import manual

        console.say(manual.page(command, width()))
        return ExitCode.PASS
    return ExitCode(_launch().run(command, rest))


def _launch() -> Any:
    from helix.app.loading import imported

    return imported("helix.app.launch")


def _plain(command: str, rest: list[str]) -> ExitCode:
    from helix.app.loading import imported

    code: ExitCode = imported(f"helix.app.commands.{command}").run(rest)
    return code


def _overview() -> str:
    lines = columns((f"  {name}", text) for name, text in sorted({**HYDRA, **PLAIN}.items()))
    return "\n".join(
        [
            "Usage: helix COMMAND [ARGUMENT ...]",
            "",
            "Evaluate what an LLM agent did.",
            "",
            "Commands:",
            *lines,
            "",
            *wrapped(_HINT, "  ", hang=""),
        ]
    )
