"""How fast trace files are read, beside bare decoders of the same bytes, and in what memory.

    pip install orjson             # of this benchmark alone; Helix does not use it
    python benchmarks/ingest.py [--rounds N] [--only NAME,…] [--megabytes N] [--peak MEGABYTES]

Each set is read whole: bytes, detection, digests, traces. `made chat`, `made otlp` and `helix` are
generated JSON Lines. The others are the recorded samples of ../shared/traces, where those are: a
document a line, repeated to `--megabytes`; formats of one session a file stay as files. `chat` is
the messages of tau-bench, `otlp` the spans of Pydantic AI under ever new trace ids. In each round
Helix, msgspec and orjson take turns on the same lines, and the best round counts, in CPU time:
MB/s, traces/s, and how many times the decoder's time Helix takes. Then a file of `--peak` MB
(200; 0 for none) is read by a process of its own, whose peak memory is told.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import orjson

import helix
from helix.ingest import Input
from helix.ingest.writing import canonical_line
from helix.model.trace import Trace
from helix.registry import Registry, load

SHARED = Path(__file__).resolve().parents[2] / "shared" / "traces"
MB = 1_000_000
_TRACE_ID = re.compile(rb'("traceId":")[0-9a-f]{8}')
LONG = "The order was placed on Monday and the parcel left the warehouse on Tuesday. " * 12


def order(number: int, step: int) -> dict[str, Any]:
    """An order as a shop's tools return it: some 2 kB of short fields."""
    items = [
        {
            "name": f"Water Bottle {at}",
            "product_id": f"{8310926033 + at}",
            "item_id": f"{2366567022 + step}",
            "price": 54.04 + at,
            "options": {"capacity": "1000ml", "material": "stainless steel", "color": "blue"},
        }
        for at in range(9)
    ]
    address = {"address1": "445 Maple Drive", "city": "Fort Worth", "zip": "76165"}
    return {
        "order_id": f"#W{number:07}{step:02}",
        "address": address,
        "items": items,
        "fulfillments": [{"tracking_id": [f"{number}"], "item_ids": [i["item_id"] for i in items]}],
        "status": "delivered",
        "payment_history": [{"transaction_type": "payment", "amount": 480.4 + step}],
    }


def chat(number: int) -> dict[str, Any]:
    """A conversation of some 60 kB: policy, twenty calls, each with its result and a sentence."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": LONG * 6},
        {"role": "user", "content": "Where is my order?"},
    ]
    for step in range(20):
        found = order(number, step)
        function = {"name": "get_order_details", "arguments": json.dumps({"id": found["order_id"]})}
        call = {"id": f"call_{step}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": json.dumps(found)},
            {"role": "assistant", "content": LONG[:300]},
        ]
    return {"id": f"run-{number}", "messages": messages}


def otlp(number: int) -> dict[str, Any]:
    """A run of some 60 kB as spans: an agent, six model calls that resend, ten tools."""
    trace, spans, history = f"{number:032x}", [], []
    ids = iter(range(1, 1000))
    root = _span(trace, next(ids), "", "invoke_agent desk", 0, {"gen_ai.agent.name": "desk"})
    root["attributes"] += _pairs({"gen_ai.operation.name": "invoke_agent"})
    spans.append(root)
    history.append({"role": "user", "parts": [{"type": "text", "content": LONG[:300]}]})
    for turn in range(6):
        call = {"type": "tool_call", "id": f"c{turn}", "name": "look", "arguments": {"at": turn}}
        answer = {"role": "assistant", "parts": [{"type": "text", "content": LONG[:400]}, call]}
        asked = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "model-1",
            "gen_ai.input.messages": json.dumps(history),
            "gen_ai.output.messages": json.dumps([answer]),
        }
        spans.append(_span(trace, next(ids), root["spanId"], "chat model-1", 10 * turn + 1, asked))
        found = json.dumps(order(number, turn))
        tool = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "look",
            "gen_ai.tool.call.id": f"c{turn}",
            "gen_ai.tool.call.arguments": json.dumps({"at": turn}),
            "gen_ai.tool.call.result": found,
        }
        spans.append(
            _span(trace, next(ids), root["spanId"], "execute_tool look", 10 * turn + 5, tool)
        )
        response = {"type": "tool_call_response", "id": f"c{turn}", "response": found}
        history += [answer, {"role": "tool", "parts": [response]}]
    scope = {"scope": {"name": "desk"}, "spans": spans}
    resource_of = {"attributes": _pairs({"service.name": "desk"})}
    return {"resourceSpans": [{"resource": resource_of, "scopeSpans": [scope]}]}


def _span(
    trace: str, number: int, parent: str, name: str, at: int, attributes: dict[str, str]
) -> dict[str, Any]:
    start = 1_700_000_000_000_000_000 + at * 1_000_000
    return {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "parentSpanId": parent,
        "name": name,
        "kind": 1,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1_000_000),
        "attributes": _pairs(attributes),
        "status": {},
    }


def _pairs(attributes: dict[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": {"stringValue": text}} for key, text in attributes.items()]


def generated(make: Callable[[int], dict[str, Any]], size: int) -> list[bytes]:
    """Return lines of one trace each, `size` bytes in all."""
    lines: list[bytes] = []
    total = 0
    while total < size:
        lines.append(orjson.dumps(make(len(lines))))
        total += len(lines[-1])
    return lines


def samples(size: int, registry: Registry) -> Iterator[tuple[str, list[list[bytes]]]]:
    """Yield each format's sample files, as lines; those of one trace a record make one file."""
    table = SHARED / "EXPECTED.tsv"
    if not table.is_file():
        return
    sets: dict[str, list[list[bytes]]] = {}
    for row in table.read_text(encoding="utf-8").splitlines()[1:]:
        path, formats = row.split("\t")
        if formats != "not-a-trace" and not path.endswith(".eval"):
            sets.setdefault(formats.split(",")[0], []).append(lines_of(SHARED / path))
    runs = [orjson.loads(line) for file in sets["tau_bench"] for line in file]
    chats = [orjson.dumps({"messages": run["traj"]}) for run in runs]
    yield "chat", [repeated(chats, size)]
    yield "otlp", [repeated([line for file in sets["otel_genai"] for line in file], size)]
    for name, files in sorted(sets.items()):
        if registry.get("formats", name).whole_file:
            yield name, files
        else:
            yield name, [repeated([line for file in files for line in file], size)]


def repeated(lines: list[bytes], size: int) -> list[bytes]:
    """Return the lines over and over up to a size, each time with other OTLP trace ids."""
    found: list[bytes] = []
    total = rounds = 0
    while total < size:
        rounds += 1
        for line in lines:
            found.append(_TRACE_ID.sub(rb"\g<1>%08x" % rounds, line))
            total += len(line)
    return found


def lines_of(path: Path) -> list[bytes]:
    """Return a file's documents, one a line; lines that are no JSON are left out."""
    data = path.read_bytes()
    try:
        return [orjson.dumps(orjson.loads(data))]
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return [line for line in data.split(b"\n") if _is_json(line)]


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(orjson.loads(line), dict)
    except orjson.JSONDecodeError:
        return False


def best(rounds: int, works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the shortest time of each, taken in turns; small works are repeated to be seen."""
    repeats: dict[str, int] = {}
    for name, work in works.items():
        begun = time.process_time()
        work()
        repeats[name] = max(1, int(0.05 / max(time.process_time() - begun, 1e-6)))
    times = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            begun = time.process_time()
            for _ in range(repeats[name]):
                work()
            taken = (time.process_time() - begun) / repeats[name]
            times[name] = min(times[name], taken)
    return times


def measure(
    name: str, files: list[list[bytes]], folder: Path, registry: Registry, rounds: int
) -> str:
    """Return the row of one set."""
    paths = []
    for number, lines in enumerate(files):
        paths.append(folder / f"{name}-{number}.jsonl")
        paths[-1].write_bytes(b"\n".join(lines) + b"\n")
    lines = [line for file in files for line in file]
    source = Input.open([str(path) for path in paths], "auto", registry)

    def read() -> int:
        return sum(isinstance(item, Trace) for item in source)

    def decode(loads: Callable[[bytes], Any]) -> None:
        for line in lines:
            loads(line)

    traces = read()
    decoder = msgspec.json.Decoder()
    times = best(
        rounds,
        {
            "helix": read,
            "msgspec": lambda: decode(decoder.decode),
            "orjson": lambda: decode(orjson.loads),
        },
    )
    size = sum(map(len, lines)) / MB
    for path in paths:
        path.unlink()
    ours = times["helix"]
    return (
        f"{name:<18}{len(files):>6}{size:>8.2f}{traces:>8}"
        f"{size / ours:>10.1f}{traces / ours:>11.0f}"
        f"{size / times['msgspec']:>10.0f}{size / times['orjson']:>9.0f}"
        f"{ours / times['msgspec']:>11.1f}{ours / times['orjson']:>10.1f}"
    )


def helix_lines(size: int, folder: Path, registry: Registry) -> list[bytes]:
    """Return canonical lines of the generated conversations."""
    path = folder / "chat.jsonl"
    path.write_bytes(b"\n".join(generated(chat, size)))
    found = Input.open(str(path), "auto", registry)
    return [canonical_line(item) for item in found if isinstance(item, Trace)]


def peak(megabytes: int, folder: Path) -> str:
    """Return what a process of its own needed for a file of that size, and for none."""
    path = folder / "large.jsonl"
    lines = generated(chat, 20 * MB)
    with open(path, "wb") as file:
        while file.tell() < megabytes * MB:
            file.write(b"\n".join(lines) + b"\n")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    told = []
    for name in (str(path), os.devnull):
        command = [sys.executable, __file__, "--read", name]
        ran = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
        told.append(json.loads(ran.stdout))
    whole, idle = told
    size, took = path.stat().st_size / MB, whole["seconds"]
    return (
        f"peak memory: {whole['peak']:.0f} MB to read {size:.0f} MB "
        f"({whole['traces']} traces, {took:.1f} s), {idle['peak']:.0f} MB to read nothing"
    )


def read_alone(name: str) -> None:
    """Read a file and print traces, seconds and this process's peak memory in MB."""
    registry, begun = load([]), time.process_time()
    traces = 0
    if name != os.devnull:
        traces = sum(isinstance(item, Trace) for item in Input.open(name, "auto", registry))
    seconds = time.process_time() - begun
    # Not ru_maxrss: that of a new process begins with its parent's.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    used = int(status.partition("VmHWM:")[2].split()[0]) * 1024 / MB
    print(json.dumps({"traces": traces, "seconds": seconds, "peak": used}))


def main() -> None:
    """Print the table and the peak."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="sets, separated by commas")
    parser.add_argument("--megabytes", type=int, default=10, help="size of generated sets")
    parser.add_argument("--peak", type=int, default=200, help="MB of the file for peak memory")
    parser.add_argument("--read", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.read:
        read_alone(args.read)
        return
    compileall.compile_dir(Path(helix.__file__).parent, quiet=1)
    registry, size = load([]), args.megabytes * MB
    wanted = set(filter(None, args.only.split(",")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sets = [
            ("made chat", [generated(chat, size)]),
            ("made otlp", [generated(otlp, size)]),
            ("helix", [helix_lines(size, folder, registry)]),
            *samples(size, registry),
        ]
        print(f"{'':<18}{'files':>6}{'MB':>8}{'traces':>8}{'MB/s':>10}{'traces/s':>11}", end="")
        print(f"{'msgspec':>10}{'orjson':>9}{'× msgspec':>11}{'× orjson':>10}")
        for label, files in sets:
            if not wanted or label in wanted:
                print(measure(label, files, folder, registry, args.rounds), flush=True)
        if args.peak:
            print(peak(args.peak, folder))


if __name__ == "__main__":
    main()
