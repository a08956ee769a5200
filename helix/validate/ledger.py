"""The ledger of test splits: used once per criterion version and pipeline (METHOD 62)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

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


def refuse_second_use(
    state: str | Path, suite: str, pipelines: Mapping[str, str], *, force: bool
) -> bool:
    """Return whether a use is a second one, or raise LabelError where it is not forced.

    `pipelines` holds the digest of each criterion's pipeline.
    """
    used = {
        use.criterion_id: use
        for use in uses(state)
        if use.suite == suite and pipelines.get(use.criterion_id) == use.pipeline
    }
    if not used or force:
        return bool(used)
    names = sorted(used)
    more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
    first = used[names[0]]
    raise LabelError(
        f"the test labels were used for {', '.join(names[:TOLD])}{more} under this judge already "
        f"({first.at}): a judge that is tuned on them looks better than it is. Measure on "
        "validation.split=dev, or type validation.force=true, which is recorded"
    )


def record(state: str | Path, entries: Sequence[Use]) -> None:
    """Add uses to the ledger, on disk when this returns, and so before a result is seen.

    Refuses as `refuse_second_use` does what another run used since this one began.
    """
    if not entries:
        return
    folder = Path(state) / FOLDER
    with held(folder, "ledger of test labels in", "type the command again"):
        for use in entries:
            mine = {use.criterion_id: use.pipeline}
            refuse_second_use(state, use.suite, mine, force=use.forced)
        lines = (encode_line(use) + b"\n" for use in [*uses(state), *entries])
        atomic_write(folder / NAME, b"".join(lines))
