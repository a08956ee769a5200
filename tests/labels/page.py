"""What the tests of the labelling page share: traces, a suite, and a server of their own."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.moments import LIMIT_S

MARKUP = "</span><script>document.title='taken'</script><img src=x onerror=document.title='taken'>"
HOSTILE = {
    "markup": MARKUP,
    "entities": "&lt;b&gt; &amp;amp; &#60;script&#62;",
    "reordered": "pay \u202eRUE 001\u202c now\u200b\u2066x\u2069",
    "surrogate": "half \ud83d of a pair and \udc00 another",
    "controls": "bell \x07 escape \x1b[31mred null \x00",
    "long": "word " * 2000 + "end",
    "unbroken": "x" * 5000,
    "template": "{{ 7 * 7 }} {% raw %} ${7*7} `js`",
}


def trace(name: str, said: str = "Your parcel 4711 is on its way.", **more: Any) -> dict[str, Any]:
    """Return a canonical trace: a question, one call with nested values, an answer."""
    return {
        "schemaVersion": "1.0",
        "id": name,
        "input": {"prompt": "Where is my parcel?"},
        "output": {"response": said},
        "observations": [
            {
                "id": f"{name}-call",
                "seq": 1,
                "type": "TOOL",
                "name": "track",
                "input": {"parcel": "4711", "deep": {"tries": 2, "quick": True}},
                "output": {"status": "on the way", "stops": ["Bergen", "Oslo"]},
            }
        ],
        "transcript": [
            {"id": "m0", "seq": 0, "role": "user", "text": "Where is my parcel?"},
            {"id": "m2", "seq": 2, "role": "assistant", "text": said},
        ],
        **more,
    }


def row(name: str, **more: Any) -> dict[str, Any]:
    """Return a judged criterion."""
    return {
        "criterion_id": name,
        "statement": f"Pass = {name} holds.",
        "severity": "HIGH",
        "class": "judge",
        **more,
    }


def write_traces(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    """Write canonical traces; a lone surrogate is written as its escape."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="ascii")
    return path


def write_suite(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write a suite; JSON is YAML."""
    suite = {"suite": "parcels", "version": 1, "criteria": list(rows)}
    path.write_text(json.dumps(suite), encoding="utf-8")
    return path


@dataclass(frozen=True, slots=True)
class Served:
    """A running server: its process, and the address that it printed."""

    process: subprocess.Popen[str]
    address: str

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].split("/")[0])

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ready(self) -> None:
        """Wait until it answers."""
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)
        line.request("GET", "/")
        assert line.getresponse().status == 403
        line.close()

    def kill(self) -> None:
        """End it as a crash would: nothing is flushed, nothing is said."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()


def ask(
    server: Served, path: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Send exactly these headers, the page's own Host unless another is given."""
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for key, value in {"Host": f"127.0.0.1:{server.port}", **named}.items():
        line.putheader(key, value)
    if body is not None:
        line.putheader("Content-Length", str(len(body)))
    line.endheaders(body)
    answer = line.getresponse()
    told = {key.lower(): value for key, value in answer.getheaders()}
    data = answer.read()
    line.close()
    return answer.status, told, data


@contextlib.contextmanager
def running(*arguments: str) -> Iterator[Served]:
    """Start a server of Helix by its command, and end it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "helix", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        told = process.stdout.readline().strip()
        address = json.loads(told)["url"] if "--json" in arguments else told
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield Served(process, address)
    finally:
        process.terminate()
        process.wait(timeout=LIMIT_S)
        process.stdout.close()
        process.stderr.close()


def served(
    folder: Path, *more: str, labels: str = "ada.jsonl", rater: str = "ada"
) -> AbstractContextManager[Served]:
    """Serve the folder's traces.jsonl and suite.yaml, as `helix labels serve` does."""
    return running(
        "labels", "serve", "--traces", str(folder / "traces.jsonl"),
        "--suite", str(folder / "suite.yaml"), "--labels", str(folder / labels), "--rater", rater,
        *more,
    )  # fmt: skip


def labels_in(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a label file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
