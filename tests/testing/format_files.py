"""A small synthetic file of each format that has no small real one beside the project."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from helix.demo.generator import generate


def lines(*records: Any) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


_CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
_CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Add."},
    {"role": "assistant", "content": None, "tool_calls": [_CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": '{"sum": 2}'},
    {"role": "assistant", "content": "Two."},
]
_SIMULATION = {
    "id": "s1", "task_id": 3, "trial": 1, "termination_reason": "user_stop",
    "reward_info": {"reward": 1.0},
    "messages": [
        {"role": "user", "content": "Add.", "tool_calls": None},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "name": "add", "arguments": {"a": 1}, "requestor": "assistant"}
        ]},
        {"role": "tool", "id": "c1", "content": '{"sum": 2}', "requestor": "assistant",
         "error": False},
        {"role": "assistant", "content": "Two.", "tool_calls": None},
    ],
}  # fmt: skip


def _span(name: str, kind: str, inputs: Any, outputs: Any, at: int) -> dict[str, Any]:
    held = {"mlflow.spanType": kind, "mlflow.spanInputs": inputs, "mlflow.spanOutputs": outputs}
    return {
        "trace_id": "q6hTqvHSgjA3cQ==", "span_id": f"{name}Q==", "name": name,
        "parent_span_id": "agentQ==" if at else "", "start_time_unix_nano": at + 1,
        "end_time_unix_nano": at + 9, "status": {"code": "STATUS_CODE_OK", "message": ""},
        "attributes": {key: json.dumps(value) for key, value in held.items()}, "events": [],
    }  # fmt: skip


def _run(name: str, kind: str, at: int, **parts: Any) -> dict[str, Any]:
    root = "20260101T00000000Zroot"
    return {
        "id": name, "trace_id": "root", "name": name, "run_type": kind, "error": None,
        "dotted_order": f"{root}.20260101T0000000{at}Z{name}" if at else root,
        "parent_run_id": "root" if at else None, "status": "success",
        "start_time": f"2026-01-01T00:00:0{at}.5", "end_time": f"2026-01-01T00:00:0{at}.7",
        **parts,
    }  # fmt: skip


FILES: dict[str, bytes] = {
    "helix": lines(*islice(generate(), 5)),
    "openai_chat": lines({"id": "t1", "messages": _CHAT}, {"id": "t2", "messages": _CHAT}),
    "tau2_bench": lines(
        {"timestamp": "2026-01-01T00:00:00", "info": {"environment_info": {"policy": "Be kind"}},
         "tasks": [{"id": "3"}], "simulations": [_SIMULATION]}
    ),
    "mlflow": lines(
        {"info": {"trace_id": "tr-1", "state": "OK", "request_time": "2026-01-01T00:00:00Z"},
         "data": {"spans": [
             _span("agent", "AGENT", {"question": "Add."}, "Two.", 0),
             _span("add", "TOOL", {"a": 1}, {"sum": 2}, 1),
         ]}}
    ),
    "langsmith": lines(
        _run("root", "chain", 0, inputs={"input": "Add."}, outputs={"output": "Two."}),
        _run("add", "tool", 1, inputs={"a": 1}, outputs={"output": {"sum": 2}}),
    ),
    "code_change": lines(
        {"id": "c1", "spec": "Greet politely.",
         "diff": "--- a/desk.py\n+++ b/desk.py\n@@ -1 +1 @@\n-print(1)\n+print(2)\n"}
    ),
}  # fmt: skip
