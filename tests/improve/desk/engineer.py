"""A scripted engineer of the toy agent: mends one defect for each request."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MENDS = {
    "agreed-first": ("rules.txt", "ask before a refund: no", "ask before a refund: yes"),
    "amount-right": ("agent.py", ' + (int(order["shipping"]) if run % 2 else 0)', ""),
}


def mend(request: dict[str, Any]) -> dict[str, str]:
    """Mend what the first failing case is about."""
    row = request["failingCases"][0]["criterionId"]
    file, before, after = MENDS[row]
    path = HERE / file
    path.write_text(path.read_text("utf-8").replace(before, after), "utf-8")
    return {"request": request["id"], "decision": "amended", "note": f"mended {row}"}


def idle(request: dict[str, Any]) -> dict[str, str]:
    """Say that it is mended, and change what mends nothing."""
    rules = HERE / "rules.txt"
    rules.write_text(rules.read_text("utf-8") + f"note: {request['id']}\n", "utf-8")
    return {"request": request["id"], "decision": "amended"}


def lie(request: dict[str, Any]) -> dict[str, str]:
    """Say that it is mended, and change nothing."""
    return {"request": request["id"], "decision": "amended"}


def refuse(request: dict[str, Any]) -> dict[str, str]:
    """Say why nothing will be changed."""
    note = f"not a matter of the {request['remedyTarget']}"
    return {"request": request["id"], "decision": "rejected", "note": note}


if __name__ == "__main__":
    json.dump(globals()[sys.argv[1]](json.load(sys.stdin)), sys.stdout)
