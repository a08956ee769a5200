"""A run over planted traces: text that would act if any report let it, in every place it can be."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from helix.registry.loading import Registry

FAR = "http://planted.invalid"
_SVG = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>").decode()
PAYLOADS: Final = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>",
    "script-end": "</script></style></textarea></title><script>alert(1)</script>",
    "attribute": '" onmouseover=alert(1) autofocus onfocus=alert(1) x=\'" style=color:red',
    "link": "[go](javascript:alert(1)) <a href='javascript:alert(1)'>x</a> javascript:alert(1)",
    "request": f"<img src={FAR}/a.png><link rel=stylesheet href={FAR}/a.css> ![]({FAR}/b.png)"
    f"<iframe src={FAR}></iframe><meta http-equiv=refresh content='0;url={FAR}'>",
    "image": f"data:image/svg+xml;base64,{_SVG} <img src='data:image/svg+xml;base64,{_SVG}'> "
    "data:image/png;base64," + "iVBORw0KGgo" * 3_000,
    "ansi": "\x1b[2J\x1b]0;owned\x07\x1b]8;;" + FAR + "\x07x\x9b31m\r\b\x7f",
    "bidi": "\u202e\u2066txt.exe\u2069 \u200bz\u200dw \ufeff \U000e0041",
    "surrogate": "\ud800 half \udfff \ud83d",
    "nul": "a\x00b \ufffe \uffff",
    "megabyte": "0123456789" * 100_000,
    "formula": f'=HYPERLINK("{FAR}","x")',
    "plus": "+1+cmd|' /C calc'!A0",
    "minus": "-1+1",
    "at": "@SUM(A1:A9)",
    "tab": "\t=1+1",
    "commands": "::error file=x::owned\n::stop-commands::x\n##vso[task.complete]\n"
    "##[error]x\n##teamcity[testFailed name='x']\n%0A::error::x",
    "cdata": "]]> --> <!-- <!DOCTYPE x [<!ENTITY y SYSTEM 'file:///etc/passwd'>]> &y; &lt;",
    "template": "{{ 7 * 7 }} {% raw %} ${7*7} #{7*7} {#",
    "markdown": "| a | b |\n|---|---|\n# heading\n```\n@everyone <details> ~~x~~ [x]: " + FAR,
    "path": "../../../../tmp/planted",
    "long": "x" * 10_000,
}
SUITE = """\
suite: planted
version: 1
criteria:
  - criterionId: says-hello
    statement: Pass = the response is Hello.
    severity: HIGH
    class: code
    codeEval: {primitive: string-equality, field: output.response, expected: Hello.}
  - criterionId: names-a-customer
    statement: Pass = the first call names a customer.
    severity: MED
    class: code
    codeEval: {primitive: string-equality, field: "observations[0].output.customer", expected: "1"}
  - criterionId: is-kind
    statement: Pass = the response is kind.
    severity: HIGH
    class: judge
"""
JUDGE = """\
import json, pathlib
PAYLOADS = json.loads(pathlib.Path(__file__).with_name("payloads.json").read_text("utf-8"))


def judge(request):
    trace = request.unit.trace_id
    said = PAYLOADS.get(trace, trace)
    verdict = {
        "criterionId": "is-kind", "critique": said, "result": "fail", "claim": said[:1_000],
        "bindings": [], "litmus": {"premise": ""}, "confidence": 0.9,
        "refs": [{"obs": trace, "path": "output.response", "value": said[:150]}],
    }
    walk = {
        "understanding": {"rephrase": said[:1_000]},
        "expectedTrajectory": [{"expected": said[:1_000]}],
        "judgeSteps": [{"kind": "gather", "text": said[:1_000]}],
        "fidelity": {"complete": True},
    }
    return {"nonce": request.nonce, **walk, "verdicts": [verdict], "notApplicable": []}
"""


def trace(payload: str) -> dict[str, Any]:
    """Return a trace that holds a payload wherever a trace holds text."""
    return {
        "schemaVersion": "1.0",
        "id": payload,
        "route": payload[:300],
        "input": {"prompt": payload},
        "output": {"response": payload, payload[:300]: payload},
        "transcript": [
            {"id": "m1", "seq": 0, "role": "user", "text": payload},
            {"id": "m2", "seq": 3, "role": "assistant", "text": payload},
        ],
        "observations": [
            {
                "id": payload[:300], "seq": 1, "name": payload[:300], "error": payload,
                "input": {payload[:300]: payload}, "output": {"text": payload, "list": [payload]},
            },
            {"id": "c2", "seq": 2, "name": "send", "input": payload, "output": payload},
        ],
        "metadata": {payload[:300]: payload},
    }  # fmt: skip


def run(folder: Path, *words: str) -> dict[str, Path]:
    """Evaluate the planted traces with every renderer that Helix brings; return their files."""
    lines = [json.dumps(trace(payload)) for payload in PAYLOADS.values()]
    (folder / "planted.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "judge.py").write_text(JUDGE, encoding="utf-8")
    said = json.dumps({payload: payload for payload in PAYLOADS.values()})
    (folder / "payloads.json").write_text(said, encoding="utf-8")
    files = {name: folder / "out" / f"{name}.out" for name in built_in()}
    done = subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", "subject.traces=planted.jsonl",
         "criteria.file=suite.yaml", "judge=scripted", "judge.script=judge.py", "judge.model=m",
         "verifier=none", "report.out=[]", "hydra.run.dir=run", *words,
         *(f"report.to.{name}={file}" for name, file in files.items())],
        cwd=folder, capture_output=True, encoding="utf-8", check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert done.stdout == "", "every report has a file of its own"
    return files


def built_in() -> list[str]:
    """Return the names of all renderers that Helix brings, also of those that are added later."""
    return sorted(Registry().items("renderers"))
