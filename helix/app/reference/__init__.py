"""The reference pages of the documentation, rendered from what the code holds.

`python -m helix.app.reference` writes them into docs/reference/. Nothing in them is written by
hand: a key, an option or a field that has no meaning in the code has none here, and the tests name
it.
"""

from __future__ import annotations

from collections.abc import Callable

from helix.app.reference import (
    commands,
    configuration,
    environment,
    exits,
    files,
    hooks,
    items,
    primitives,
    states,
)
from helix.app.reference.markdown import document

_TITLES: dict[str, tuple[str, str, Callable[[], str]]] = {
    "commands": ("Commands", "Every command, as its `--help` says it.", commands.body),
    "configuration": (
        "Configuration",
        "Every key and every config group of the Hydra commands, `KEY=VALUE` and `GROUP=CHOICE`.",
        configuration.body,
    ),
    "exit-codes": ("Exit codes", "How a command ends, and which error leads there.", exits.body),
    "primitives": (
        "Primitives",
        "Every check that Helix brings: what it decides, its parameters, an example.",
        primitives.body,
    ),
    "states": ("States and causes", "What a cell can be, and why it is not decided.", states.body),
    "items": (
        "Registered items",
        "What Helix registers with each hook; `helix plugins NAME` prints the whole of one.",
        items.body,
    ),
    "hooks": (
        "Hooks",
        "Every hook of a plugin: signature, item, and the suite that tests it.",
        hooks.body,
    ),
    "files": ("Files", "Every file that Helix reads or writes, field by field.", files.body),
    "environment": ("Environment", "Every variable that Helix reads.", environment.body),
}


def pages() -> dict[str, str]:
    """Return the text of every page by its file name, sorted."""
    made = {
        f"{name}.md": document(title, about, body())
        for name, (title, about, body) in _TITLES.items()
    }
    listed = "\n".join(
        f"- [{title}]({name}.md): {about[0].lower()}{about[1:]}"
        for name, (title, about, _) in _TITLES.items()
    )
    elsewhere = (
        "- [Formats](../formats.md): every trace format, and what of it is read.\n"
        "- [Limits](../limits.md): what bounds a run: questions, time, tokens, money.\n"
        "- [Requirements](../method.md): every numbered requirement, and where it is kept."
    )
    made["index.md"] = document(
        "Reference", "What there is, without why.", f"{listed}\n{elsewhere}"
    )
    return dict(sorted(made.items()))
