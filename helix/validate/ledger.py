"""The ledger of test splits: used once per criterion version and pipeline (METHOD 62)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from helix.errors import ArtifactError, LabelError
from helix.files import atomic_write, held
from helix.model.lines import decode_line, encode_line
from helix.model.validation import Use
from helix.trust import FOLDER

NAME = "ledger.jsonl"
TOLD = 5


def uses(state: str | Path) -> list[Use]:
    """Return every use that was recorded, the earliest first."""
    path = Path(state) / FOLDER / NAME
    if not path.exists():
        return []
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            found.append(decode_line(line, Use))
        except ValueError as error:
            raise ArtifactError(f"{path}, line {number} is damaged: {error}") from None
    return found


def marked(
    earlier: Sequence[Use], wanted: Sequence[Use], *, force: bool, who: str = "this judge"
) -> tuple[Use, ...]:
    """Return the uses, second ones marked as forced; LabelError where one is and is not forced."""
    used = {_what(use): use for use in earlier}
    again = {use.criterion_id: used[_what(use)] for use in wanted if _what(use) in used}
    if not again or force:
        return tuple(replace(use, forced=_what(use) in used) for use in wanted)
    names = sorted(again)
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    raise LabelError(
        f"the test labels were used for {', '.join(names[:TOLD])}{more} under {who} already "
        f"({again[names[0]].at}): a judge that is tuned on them looks better than it is. Measure "
        "on validation.split=dev, or type validation.force=true, which is recorded"
    )


def shares(earlier: Sequence[Use], use: Use) -> bool:
    """Whether a label file of a use served the same criterion and pipeline before."""
    return any(
        _what(one) == _what(use) and one.labels.keys() & use.labels.keys() for one in earlier
    )


def _what(use: Use) -> tuple[str, str, str]:
    """Return what may use test labels once."""
    return use.suite, use.criterion_id, use.pipeline


def record(state: str | Path, entries: Sequence[Use]) -> None:
    """Add uses to the ledger, on disk when this returns, and so before a result is seen.

    Refuses what another run used since this one began.
    """
    if not entries:
        return
    folder = Path(state) / FOLDER
    with held(folder, "ledger of test labels in", "type the command again"):
        earlier = uses(state)
        marked(earlier, [use for use in entries if not use.forced], force=False)
        lines = (encode_line(use) + b"\n" for use in [*earlier, *entries])
        atomic_write(folder / NAME, b"".join(lines))
