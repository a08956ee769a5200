"""Whether a command ends with a code that its help tells, looked at wherever a test runs one."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

COMMANDS = Path(__file__).resolve().parents[1] / "docs" / "reference" / "commands.md"


def held_to_its_help(main: Callable[..., int]) -> Callable[..., int]:
    """Return `main` as it is, but for an end that the help of its command does not tell."""

    @functools.wraps(main)
    def held(argv: Sequence[str] | None = None) -> int:
        code = main(argv)
        first, *rest = [*(sys.argv[1:] if argv is None else argv), ""]
        known = _told()
        told = known.get(" ".join([first, *rest[:1]])) or known.get(first, {0, 2, 4, 130})
        assert code in told, f"helix {first} {rest} ends with {code}, which its help does not tell"
        return code

    return held


@functools.cache
def _told() -> dict[str, set[int]]:
    from helix.app.reference.exits import endings

    page = COMMANDS.read_text(encoding="utf-8")
    return {name: {int(code) for code in codes} for name, codes in endings(page).items()}
