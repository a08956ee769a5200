"""How many traces a second code rows decide: ten rows a trace, 60 kB a trace, beside peers.

    pip install pydantic-evals agentevals   # of this benchmark alone; what is absent is left out
    python benchmarks/checks.py [--rounds N] [--traces N] [--only WORD,…] [--no-growth]

Each trace holds twenty calls of eight tools. Its results are long texts in a short JSON object
(`text`), or JSON of short fields throughout (`nested`); it is written as Helix JSONL and as OpenAI
chat. `all tools` are ten rows over every call, `named` the same rows over one tool. Of each file
are timed, in turns, the best of the rounds, in CPU time of one process:

- bytes: the floor under everyone: the file's lines, SHA-256 of each, and msgspec's bare decode;
- decided: the lines read, digested, decoded and ten rows decided;
- run: the whole of `helix.evaluate`, from the survey to the run directory;
- pydantic-evals: `Dataset.evaluate_sync` with ten evaluators that ask the same of decoded
  traces, with decoding and without;
- agentevals: ten trajectory evaluators on decoded traces, against a reference of the same calls.

Then every primitive is asked about traces of 1,000 and of 10,000 observations: time per
observation, and its growth (1.0 is linear), without the collections of garbage that happen to fall
into the time. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import compileall
import gc
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

import helix
from helix.checks import decide
from helix.checks.specs import read as read_spec
from helix.ingest import Input
from helix.model.criterion import Suite
from helix.model.trace import Message, Observation, Source, Trace
from helix.registry import CheckContext, Registry, load
from helix.suite import compile as compile_suite

TOOLS = (
    "find_user", "get_order", "list_items", "quote_price",
    "get_policy", "check_stock", "send_mail", "issue_refund",
)  # fmt: skip
CALLS = 20
PROSE = "The order was placed on Monday and the parcel left the warehouse on Tuesday. "
Work = Callable[[], Any]


def result(kind: str, number: int, step: int) -> dict[str, Any]:
    """Return what a tool came back with: some 2.6 kB."""
    head = {"success": True, "order_id": f"#W{number:06}", "currency": "EUR", "total": 480.4}
    if kind == "text":
        return {**head, "report": PROSE * 33}
    items = [
        {
            "name": f"Water Bottle {at}",
            "product_id": f"{8310926033 + at}",
            "item_id": f"{2366567022 + step}",
            "price": 54.04 + at,
            "available": at % 2 == 0,
            "options": {"capacity": "1000ml", "material": "stainless steel", "color": "blue"},
        }
        for at in range(11)
    ]
    return {**head, "items": items, "address": {"city": "Fort Worth", "zip": "76165"}}


def conversation(kind: str, number: int) -> Iterator[tuple[str, Any]]:
    """Yield what is said and done in one trace."""
    yield "user", f"Where is my order #W{number:06}? Yes, you may look at everything."
    for step in range(CALLS):
        arguments = {"order_id": f"#W{number:06}", "step": step}
        yield "call", (step, TOOLS[step % len(TOOLS)], arguments, result(kind, number, step))
        yield "assistant", PROSE * 3
    yield "assistant", f"Your order #W{number:06} is on its way."


def chat(kind: str, number: int) -> dict[str, Any]:
    """Return the trace as OpenAI chat messages: results are JSON in a text."""
    messages: list[dict[str, Any]] = []
    for role, said in conversation(kind, number):
        if role != "call":
            messages.append({"role": role, "content": said})
            continue
        step, name, arguments, found = said
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{step}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        content = json.dumps(found)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return {"id": f"run-{number}", "messages": messages}


def canonical(kind: str, number: int) -> dict[str, Any]:
    """Return the trace in Helix's keys: results are texts, or nested where `kind` says so."""
    said, done = [], []
    for seq, (role, what) in enumerate(conversation(kind, number)):
        if role != "call":
            message = {"id": f"m{seq}", "seq": seq, "role": role, "text": what}
            said.append({**message, "observationIds": []})
            continue
        step, name, arguments, found = what
        call = {"id": f"call_{step}", "seq": seq, "type": "TOOL", "name": name}
        output = found if kind == "nested" else json.dumps(found)
        done.append({**call, "input": arguments, "output": output})
    return {
        "schemaVersion": "1.0",
        "id": f"run-{number}",
        "input": {"prompt": said[0]["text"]},
        "output": {"response": said[-1]["text"]},
        "observations": done,
        "transcript": said,
    }


def rows(tool: str) -> list[dict[str, Any]]:
    """Return ten rows over the calls of one tool, or of every tool (`*`)."""
    user = {"message": "user", "matches": r"(?i)\byes\b"}
    schema = {"required": ["order_id"], "properties": {"order_id": {"pattern": "^#W[0-9]+$"}}}
    order, output = f"obs:{tool}.input.order_id", f"obs:{tool}.output"
    failing = {"fail_field": "output.success", "fail_equals": False, "recovery_tools": ["@same"]}
    last = (
        {"primitive": "recovery-after-failure", **failing}
        if tool == "*"
        else {"primitive": "schema-conformance", "field": output, "required_keys": ["success"]}
    )
    return [
        {"primitive": "presence", "field": "output.response"},
        {"primitive": "format-validity", "field": order, "pattern": "^#W"},
        {"primitive": "string-equality", "field": f"{output}.currency", "expected": "EUR"},
        {"primitive": "schema-conformance", "field": f"obs:{tool}.input", "json_schema": schema},
        {"primitive": "tool-output-failure", "tool": tool, "success_path": "output.success"},
        {"primitive": "required-order", "first": user, "then": {"tool": tool}},
        {"primitive": "ref-integrity", "producer": "input.prompt", "consumer": order},
        {"primitive": "error-spans", "name": tool},
        {"primitive": "caps", **({"calls": 40} if tool == "*" else {"calls_of": {tool: 40}})},
        last,
    ]


def suite(tool: str) -> Suite:
    """Return the ten rows as a suite."""
    made = [
        {
            "criterion_id": f"R{at}-{row['primitive']}",
            "statement": f"Pass = row {at} holds.",
            "severity": "HIGH",
            "class": "code",
            "may_not_apply": True,
            "code_eval": row,
        }
        for at, row in enumerate(rows(tool))
    ]
    return Suite.model_validate({"suite": "speed", "version": 1, "criteria": made})


def best(rounds: int, works: dict[str, Work]) -> dict[str, float]:
    """Return the shortest CPU time of each, taken in turns."""
    times = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            gc.collect()
            begun = time.process_time()
            work()
            times[name] = min(times[name], time.process_time() - begun)
    return times


def helix_works(path: Path, tools: dict[str, str], registry: Registry) -> dict[str, Work]:
    """Return what Helix is timed at on one file."""

    def floor() -> None:
        decoder = msgspec.json.Decoder()
        with open(path, "rb") as lines:
            for line in lines:
                sha256(line).hexdigest()
                decoder.decode(line)

    def decided(compiled: Any) -> None:
        context = CheckContext(inventory=frozenset(TOOLS))
        for trace in Input.open(str(path), "auto", registry):
            for row in compiled.rows:
                decide(row, trace, context)

    run_dir = path.parent / "run"
    works: dict[str, Work] = {"bytes": floor}
    for label, tool in tools.items():
        made = suite(tool)
        compiled = compile_suite(made, registry)
        works[f"decided, {label}"] = lambda compiled=compiled: decided(compiled)
        works[f"run, {label}"] = lambda made=made: helix.evaluate(path, made, run_dir=run_dir)
    return works


def pydantic_evals(lines: list[bytes]) -> dict[str, Work]:
    """Return pydantic-evals over the same traces: ten evaluators that look at every call."""
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Evaluator, EvaluatorContext

    def asking(name: str, question: Callable[[dict[str, Any]], bool]) -> Any:
        def evaluate(self: Any, context: EvaluatorContext[Any, Any, Any]) -> bool:
            return question(context.output)

        return type(name, (Evaluator,), {"evaluate": evaluate})()

    evaluators = [asking(f"Asks{at}", question) for at, question in enumerate(QUESTIONS)]

    def cases(decode: bool) -> list[Any]:
        return [Case(inputs=line if decode else opened(line)) for line in lines]

    def evaluate(made: list[Any], task: Callable[[Any], Any]) -> None:
        dataset = Dataset(name="speed", cases=made, evaluators=evaluators)
        dataset.evaluate_sync(task, progress=False)

    ready, raw = cases(decode=False), cases(decode=True)
    return {
        "pydantic-evals, decoded before": lambda: evaluate(ready, lambda trace: trace),
        "pydantic-evals, with decoding": lambda: evaluate(raw, opened),
    }


def opened(line: bytes) -> dict[str, Any]:
    """Return a canonical line as plain values, every result decoded."""
    trace: dict[str, Any] = msgspec.json.decode(line)
    for call in trace["observations"]:
        if isinstance(call["output"], str):
            call["output"] = msgspec.json.decode(call["output"])
    return trace


def _calls(question: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], bool]:
    return lambda trace: all(question(call) for call in trace["observations"])


QUESTIONS: tuple[Callable[[dict[str, Any]], bool], ...] = (
    lambda trace: bool(trace["output"].get("response")),
    _calls(lambda call: call["input"]["order_id"].startswith("#W")),
    _calls(lambda call: call["output"]["currency"] == "EUR"),
    _calls(lambda call: isinstance(call["input"].get("order_id"), str)),
    _calls(lambda call: call["output"]["success"] is True),
    lambda trace: "yes" in trace["transcript"][0]["text"].lower(),
    lambda trace: all(
        call["input"]["order_id"] in trace["input"]["prompt"] for call in trace["observations"]
    ),
    _calls(lambda call: call.get("error") is None and call.get("status") != "error"),
    lambda trace: len(trace["observations"]) <= 40,
    _calls(lambda call: call["output"].get("success") is not False),
)


def agentevals(lines: list[bytes]) -> dict[str, Work]:
    """Return agentevals over the same conversations: ten of its modes against the same calls."""
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    modes = [(m, a) for m in ("strict", "unordered", "superset") for a in ("exact", "ignore")]
    modes += [("subset", "exact"), ("subset", "ignore"), ("superset", "subset")]
    modes += [("subset", "superset")]
    evaluators = [
        create_trajectory_match_evaluator(trajectory_match_mode=m, tool_args_match_mode=a)
        for m, a in modes
    ]
    traces = [msgspec.json.decode(line)["messages"] for line in lines]

    def evaluate() -> None:
        for messages in traces:
            for evaluator in evaluators:
                evaluator(outputs=messages, reference_outputs=messages)

    return {"agentevals, decoded before": evaluate}


def throughput(traces: int, rounds: int, only: str) -> None:
    """Print traces a second of everyone on every kind of file."""
    registry = load([])
    tools = {"all tools": "*", "named": TOOLS[1]}
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("text", "nested"):
            for name, make in (("helix", canonical), ("chat", chat)):
                label = f"{name} {kind}"
                if only not in label:
                    continue
                lines = [json.dumps(make(kind, at)).encode() for at in range(traces)]
                path = Path(folder) / f"{name}-{kind}.jsonl"
                path.write_bytes(b"\n".join(lines) + b"\n")
                works = helix_works(path, tools, registry)
                for peer in PEERS.get(name, ()):
                    try:
                        works |= peer(lines)
                    except ImportError:
                        print(f"  ({peer.__name__} is not installed and left out)")
                size = sum(map(len, lines)) / traces / 1000
                print(f"{label}: {traces} traces of {size:.0f} kB")
                for work, took in best(rounds, works).items():
                    rate, each = traces / took, took / traces * 1e6
                    print(f"  {work:<32}{rate:>9.0f} traces/s{each:>8.0f} µs")


PEERS: dict[str, tuple[Callable[[list[bytes]], dict[str, Work]], ...]] = {
    "helix": (pydantic_evals,),
    "chat": (agentevals,),
}


def long_trace(size: int) -> Trace:
    """Return a trace of that many calls, each with a small result, and a message every tenth."""
    trace = Trace("long", Source("made", 0, "made", ""), {"prompt": "Order #W1, please. Yes."})
    for at in range(size):
        seq = at * 2
        if at % 10 == 0:
            role = "user" if at % 20 == 0 else "assistant"
            text = f"Yes, order #W{at} for €{at}.00."
            trace.transcript.append(Message(f"m{at}", seq, role, text))
        found = {"success": at % 50 != 7, "total": at, "id": f"U{at}", "status": "open"}
        call = {"order_id": f"#W{at}", "amount": max(0, at - 8), "user_id": f"U{max(0, at - 8)}"}
        name, text = TOOLS[at % len(TOOLS)], json.dumps(found)
        made = Observation(f"c{at}", seq + 1, name, input=call, output_text=text)
        trace.observations.append(made)
    said = f"I refunded €{size - 9}.00 for order #W{size - 9}."
    trace.output = {"response": said, "state": {"status": "closed"}}
    return trace


GROWTH: dict[str, dict[str, Any]] = {
    "argument-schema": {"schemas": {"*": {"required": ["order_id"]}}},
    "caps": {"calls": 99_999, "calls_of": {"issue_refund": 99_999}},
    "duplicate-writes": {"tool": "issue_refund", "key": "input.order_id"},
    "format-validity": {"field": "obs:*.input.order_id", "pattern": "^#W"},
    "json-compare": {"field": "obs:issue_refund.input.amount", "op": "<=", "value": 99_999},
    "loops": {"times": 3, "cycle": 2},
    "presence": {"field": "obs:*.output.id"},
    "ref-integrity": {"producer": "obs:*.output.id", "consumer": "obs:issue_refund.input.user_id"},
    "required-order": {
        "first": {"message": "user", "matches": r"(?i)\byes\b"},
        "then": {"tool": "issue_refund"},
        "each": True,
    },
    "schema-conformance": {"field": "obs:*.input", "required_keys": ["order_id"]},
    "string-equality": {"field": "obs:*.output.status", "expected": "open"},
    "tool-list": {"allow": list(TOOLS)},
    "tool-output-failure": {"tool": "*", "success_path": "output.success"},
    "trajectory-match": {"expected": ["find_user", "get_order"], "mode": "superset"},
    "value-flow": {
        "tool": "issue_refund",
        "argument": "input.amount",
        "sources": "obs:*.output.total",
    },
}


def growth(rounds: int, only: str) -> None:
    """Print what each primitive takes per observation of 1,000 and of 10,000."""
    checks = {name: entry.item for name, entry in load([]).items("checks").items()}
    context = CheckContext(inventory=frozenset(TOOLS))
    print(f"{'primitive':<26}{'1,000':>10}{'10,000':>10}   µs per observation, growth, decision")
    for name, check in sorted(checks.items()):
        if only not in f"growth {name}":
            continue
        example = check.params.model_config.get("json_schema_extra", {}).get("examples", [{}])[0]
        part = read_spec({"primitive": name, **GROWTH.get(name, example)}, checks.__getitem__)
        per, state = [], ""
        for size in (1_000, 10_000):
            took = float("inf")
            for _ in range(rounds):
                trace = long_trace(size)
                gc.collect()
                gc.disable()
                begun = time.process_time()
                state = part.check.decide(trace, part.params, context).state
                took = min(took, time.process_time() - begun)
                gc.enable()
            per.append(took / size * 1e6)
        print(f"{name:<26}{per[0]:>10.2f}{per[1]:>10.2f}{per[1] / per[0]:>8.1f}   {state}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--traces", type=int, default=500)
    parser.add_argument("--only", default="", help="a part of a set's name: `chat`, `growth`")
    parser.add_argument("--no-growth", action="store_true")
    args = parser.parse_args()
    compileall.compile_dir(Path(helix.__file__).parent, quiet=1)
    load_of = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"load {load_of} on {os.cpu_count()} cores")
    throughput(args.traces, args.rounds, args.only)
    if not args.no_growth:
        growth(args.rounds, args.only)


if __name__ == "__main__":
    main()
