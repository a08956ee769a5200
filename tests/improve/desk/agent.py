"""A toy agent that refunds orders, with two planted defects.

`rules.txt` is its specification: it lets the agent refund before the customer has agreed. The
second is in `amount` below: every other run the shipping is refunded too, which orders exclude.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

RULES = Path(__file__).with_name("rules.txt")


def amount(order: dict[str, Any], run: int) -> int:
    """Return what is to be refunded."""
    return int(order["price"]) + (int(order["shipping"]) if run % 2 else 0)


def work(case: dict[str, Any], run: int) -> dict[str, Any]:
    """Handle one case and return the recorded trace."""
    rules = dict(line.split(": ", 1) for line in RULES.read_text("utf-8").splitlines())
    order = {"id": case["order"], "price": case["price"], "shipping": case["shipping"]}
    paid = amount(order, run)
    steps: list[dict[str, Any]] = [
        {"type": "TOOL", "name": "find_order", "input": {"order": order["id"]}, "output": order}
    ]
    if rules["ask before a refund"] == "yes":
        steps.append(
            {"type": "TOOL", "name": "ask", "input": {"text": f"Refund {paid}?"},
             "output": {"agreed": True}}
        )  # fmt: skip
    refund = {"order": order["id"], "amount": paid}
    done = {"success": True, "refunded": paid, "due": order["price"]}
    steps.append({"type": "TOOL", "name": "refund", "input": refund, "output": done})
    observations = [{"id": f"o{at}", "seq": at, **step} for at, step in enumerate(steps)]
    return {
        "id": case["id"],
        "input": {"prompt": case["request"]},
        "output": {"response": f"{paid} of order {order['id']} are on their way."},
        "observations": observations,
    }


if __name__ == "__main__":
    json.dump(work(json.load(sys.stdin), int(sys.argv[1])), sys.stdout)
