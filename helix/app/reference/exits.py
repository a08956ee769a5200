"""Exit codes, and the tree of errors that lead to them."""

from __future__ import annotations

from collections.abc import Iterator

from helix.app.reference.markdown import table
from helix.errors import MEANINGS, WORST_FIRST, ExitCode, HelixError


def body() -> str:
    """Return the codes, what they mean, and the errors that end in each."""
    rows = [[str(int(one)), one.name.lower(), MEANINGS[one]] for one in ExitCode]
    worst = ", ".join(str(int(one)) for one in WORST_FIRST)
    errors = [
        [f"`{kind.__name__}`", str(int(kind.exit_code)), _first(kind)] for kind in _tree(HelixError)
    ]
    return "\n".join(
        [
            table(["code", "name", "the command"], rows),
            "",
            f"A sweep, and whatever else is several runs, ends with the worst: {worst}.",
            "",
            "## Errors",
            "",
            "Each is raised on purpose, with a sentence that says what is wrong and what to type.",
            "",
            table(["error", "exit code", "when"], errors),
        ]
    )


def _tree(kind: type[HelixError]) -> Iterator[type[HelixError]]:
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == kind.__module__:
            yield from _tree(below)


def _first(kind: type[HelixError]) -> str:
    return (kind.__doc__ or "").split("\n\n")[0]
