"""What of the operator's memory a run knows, told when it starts (METHOD 80)."""

from __future__ import annotations

from typing import Final

from helix.app import console
from helix.memory import entries_for, preferences
from helix.model.preference import Preference
from helix.reports.summary import listed
from helix.reports.words import counted

STAGE: Final = "evaluate"
_SHOWN = 8


def remembered(state: str) -> tuple[Preference, ...]:
    """Return the entries of this stage and the general ones, named on standard error.

    Evaluate and discover are one stage. A file with a fault is passed over, and that is told.
    """
    entries, faults = entries_for(state, STAGE)
    if entries:
        names = listed([entry.name for entry in entries], _SHOWN, "see helix memory list")
        known = counted(len(entries), "memory entry", "memory entries")
        console.tell(f"helix: {known} known: {names}; no judge or verifier is given them")
    if faults:
        files = counted(len({fault.file for fault in faults}), "memory file")
        console.tell(f"helix: {files} with faults; see: helix memory check")
    return preferences(entries)
