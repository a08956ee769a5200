"""Exit codes: which command ends with which, and the tree of errors that lead to them.

What a command says of its exit codes in its help is the only place where that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from helix.app.reference import commands
from helix.app.reference.markdown import code, table
from helix.errors import MEANINGS, WORST_FIRST, ExitCode, HelixError

EVERY: Final = {
    ExitCode.PASS: "the work was done",
    ExitCode.USAGE: "what was typed, or a file, cannot be used",
    ExitCode.INTERNAL: MEANINGS[ExitCode.INTERNAL],
    ExitCode.INTERRUPTED: MEANINGS[ExitCode.INTERRUPTED],
}
"""With what every command may end, and when, where its help says no more of it."""
_NO_MORE = ("", "usage", "usage or configuration", "interrupted", "internal error",
            "internal error or infrastructure")  # fmt: skip
_SECTION = re.compile(r"^##+ helix ([a-z -]+)$[^`]*```text\n(.*?)^```", re.M | re.S)
_PAGE = re.compile(r"^EXIT CODES\n(.*?)(?=^[A-Z]|\Z)", re.M | re.S)
_ENTRY = re.compile(r"(?:^|\s{2,})(\d+) +(.+?)(?=\s{3,}\d|$)", re.M)
_SENTENCE = re.compile(r"\b[Ee]xits (?:as the gate: )?(0.*?)\.(?:\s|$)")
_CLAUSE = re.compile(r"(?:^|[,;] (?:or )?)(\d+)\b(.*?)(?=[,;] (?:or )?\d+\b|$)")
_LEAD = re.compile(r"^(?:if|where|for) ")


def body() -> str:
    """Return the codes, what they mean, who ends with them, and the errors that lead there."""
    rows = [[str(int(one)), one.name.lower(), MEANINGS[one]] for one in ExitCode]
    worst = ", ".join(str(int(one)) for one in WORST_FIRST)
    errors = [
        [f"`{kind.__name__}`", str(int(kind.exit_code)), _first(kind)] for kind in _tree(HelixError)
    ]
    told = endings(commands.body())
    return "\n".join(
        [
            table(["code", "name", "the command"], rows),
            "",
            f"A sweep, and whatever else is several runs, ends with the worst: {worst}.",
            "",
            "## Commands",
            "",
            "Every command may end with 0 where the work was done, and with 2, 4 and 130. "
            "The second table tells when, where the help of a command says more of it.",
            "",
            table(["command", *(str(int(one)) for one in ExitCode)], _matrix(told)),
            "",
            table(["command", "code", "when"], _reasons(told)),
            "",
            "## Errors",
            "",
            "Each is raised on purpose, with a sentence that says what is wrong and what to type.",
            "",
            table(["error", "exit code", "when"], errors),
        ]
    )


def endings(page: str) -> dict[str, dict[ExitCode, str]]:
    """Return with which codes each command ends, and when, by what its help on the page says.

    A word that says nothing of them ends as the command before it says; what only names further
    words is no command.
    """
    helps = dict(_SECTION.findall(page))
    found = {name: _told(text) for name, text in helps.items()}
    for name in found:
        found[name] = found[name] or found.get(name.partition(" ")[0], {})
        if "Those of `helix evaluate`." in helps[name]:
            found[name] = found["evaluate"]
    groups = [name for name, text in helps.items() if re.search(r"COMMAND \.\.\.$", text, re.M)]
    return {name: EVERY | told for name, told in found.items() if name not in groups}


def _told(text: str) -> dict[ExitCode, str]:
    if page := _PAGE.search(text):
        entries = _ENTRY.findall(page[1])
    else:
        sentence = _SENTENCE.search(" ".join(text.split()))
        entries = _CLAUSE.findall(sentence[1]) if sentence else []
    said = {ExitCode(int(number)): _LEAD.sub("", text.strip()) for number, text in entries}
    return {one: EVERY.get(one, text) if text in _NO_MORE else text for one, text in said.items()}


def _matrix(told: dict[str, dict[ExitCode, str]]) -> Iterator[list[str]]:
    for name, codes in told.items():
        yield [code(name), *(str(int(one)) if one in codes else "" for one in ExitCode)]


def _reasons(told: dict[str, dict[ExitCode, str]]) -> Iterator[list[str]]:
    for name, codes in told.items():
        for one in ExitCode:
            if one in codes and codes[one] != EVERY.get(one):
                yield [code(name), str(int(one)), codes[one]]


def _tree(kind: type[HelixError]) -> Iterator[type[HelixError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == kind.__module__:
            yield from _tree(below)


def _first(kind: type[HelixError]) -> str:
    return (kind.__doc__ or "").split("\n\n")[0]
