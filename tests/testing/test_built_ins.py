"""The items that Helix brings keep the contracts that `helix.testing` holds plugins to."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from helix import testing
from helix.demo.generator import generate
from helix.errors import HelixError
from helix.ingest import Input
from helix.model.trace import Trace
from helix.registry import CheckContext, load
from helix.registry.hookspecs import KINDS
from tests.backends.fault_server import FaultServer
from tests.conftest import SHARED
from tests.testing.format_files import FILES, lines

REGISTRY = load([])
SMALL = 800_000
SLOW = {"litellm", "processes"}


def items(kind: str) -> list[Any]:
    return [
        pytest.param(entry.item, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
        for name, entry in REGISTRY.items(kind).items()
    ]


@pytest.mark.parametrize("item", items("samplers"))
def test_every_sampling_strategy_conforms(item: Any) -> None:
    testing.sampler_conforms(item)


@pytest.mark.parametrize("item", items("caches"))
def test_every_cache_conforms(item: Any) -> None:
    testing.cache_conforms(item)


@pytest.mark.parametrize("item", items("executors"))
def test_every_executor_conforms(item: Any) -> None:
    testing.executor_conforms(item)


@pytest.mark.parametrize("item", items("renderers"))
def test_every_renderer_conforms(item: Any) -> None:
    testing.renderer_conforms(item)


@pytest.mark.parametrize("item", items("dimensions"))
def test_every_dimension_conforms(item: Any) -> None:
    testing.dimension_conforms(item)


@pytest.fixture(scope="module")
def demo() -> tuple[tuple[Any, ...], CheckContext]:
    """Some traces of the demo, and the tools that stand in them."""
    traces = tuple(islice(generate(), 0, 60, 6))
    seen = frozenset(o["name"] for trace in traces for o in trace["observations"])
    return traces, CheckContext(seen=seen, roles=frozenset({"user", "assistant"}))


@pytest.mark.parametrize("item", items("checks"))
def test_every_check_conforms(item: Any, demo: tuple[tuple[Any, ...], CheckContext]) -> None:
    traces, context = demo
    extra = item.params.model_config["json_schema_extra"]
    for params in extra["examples"]:
        absence = item.name == "implies"
        testing.check_conforms(item, params, others=traces, context=context, absence=absence)


@pytest.fixture(scope="module")
def samples() -> dict[str, list[bytes]]:
    """Files of each format: real ones that are small and sound, where ../shared is here."""
    found = {name: [data] for name, data in FILES.items()}
    table = SHARED / "traces" / "EXPECTED.tsv"
    rows = table.read_text(encoding="utf-8").splitlines()[1:] if table.is_file() else []
    for path in (SHARED / "traces" / row.split("\t")[0] for row in rows):
        if not path.is_file() or not 0 < path.stat().st_size < SMALL:
            continue
        try:
            read = list(Input.open(str(path), "auto", REGISTRY))
        except HelixError:
            continue
        if all(isinstance(one, Trace) for one in read):
            found.setdefault(read[0].source.format, []).append(path.read_bytes())
    return found


@pytest.mark.parametrize("item", items("formats"))
def test_every_format_conforms(item: Any, samples: dict[str, list[bytes]]) -> None:
    if item.name not in samples and not SHARED.is_dir():
        pytest.skip("../shared is not here: real traces are not tested")
    foreign = b'{"ticket": "T1", "talk": []}'
    testing.format_conforms(item, samples[item.name][:3], foreign=[foreign])


LABELS = {
    "csv": b"trace,criterion,label,rater\nt1,polite,pass,ada\n",
    "helix": lines({"trace": "t1", "criterion": "polite", "label": "pass", "rater": "ada"}),
    "langfuse": lines(
        {"name": "polite", "value": 1, "dataType": "NUMERIC", "source": "ANNOTATION",
         "traceId": "t1", "authorUserId": "ada"}
    ),
    "langsmith": lines(
        {"id": "f", "trace_id": "t1", "key": "polite", "score": None, "value": "pass",
         "feedback_source": {"type": "app", "user_id": "ada"}}
    ),
    "traces": lines(
        {"schemaVersion": "1.0", "id": "t1", "output": {}, "labels": {"polite": "pass"}}
    ),
    "agentrx": json.dumps(
        [{"trajectory_id": "t1", "failures": [], "failure_summary": "", "root_cause": {}}]
    ).encode(),
}  # fmt: skip

LABELLED = {name: [("t1", "polite", "pass")] for name in LABELS}
LABELLED |= {"langfuse": [("t1", "polite", 1)], "agentrx": [("t1", "failure", "fail")]}


@pytest.mark.parametrize("item", items("labels"))
def test_every_label_source_conforms(item: Any) -> None:
    testing.label_source_conforms(item, LABELS[item.name], LABELLED[item.name])


ECHO = """\
import json, sys
case = json.load(sys.stdin)
print(json.dumps({"schemaVersion": "1.0", "id": case["id"], "input": case, "output": {}}))
"""


def test_every_way_to_run_a_subject_conforms(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(ECHO, encoding="utf-8")
    (tmp_path / "call.py").write_text(
        "def run(case):\n    return {'schemaVersion': '1.0', 'id': case['id'], "
        "'input': case, 'output': {}}\n",
        encoding="utf-8",
    )
    sections: dict[str, dict[str, Any]] = {
        "command": {"command": [sys.executable, str(tmp_path / "echo.py")]},
        "python": {"call": f"{tmp_path / 'call.py'}:run"},
        "directory": {},
        "human": {},
    }
    assert sections.keys() == REGISTRY.items("subjects").keys()
    for name, section in sections.items():
        item = REGISTRY.get("subjects", name)
        testing.subject_conforms(item, section, waits=not section)


ABSTAINS = """\
import json, sys
from types import SimpleNamespace as Given
from helix.backends.scripted import abstain
asked = json.load(sys.stdin)
unit = asked["unit"]
if unit["role"] != "judge":
    sys.exit("no judge's question")
unit = Given(role=unit["role"], axis=unit["axis"], criteria=unit["criteria"])
print(json.dumps(abstain(Given(unit=unit, nonce=asked["nonce"]))))
"""


@pytest.mark.parametrize("item", items("judges"))
def test_every_judge_conforms(item: Any, project: Path, tmp_path: Path) -> None:
    (tmp_path / "abstains.py").write_text(ABSTAINS, encoding="utf-8")
    with FaultServer() as server:
        sections: dict[str, tuple[dict[str, Any], bool]] = {
            "none": ({}, False),
            "replay": ({"dir": str(project / "helix" / "demo" / "recordings")}, False),
            "dispatch": ({"dir": str(tmp_path / "desk")}, False),
            "scripted": ({}, True),
            "command": ({"command": [sys.executable, str(tmp_path / "abstains.py")]}, True),
            "litellm": ({"model": "openai/m", "base_url": server.base_url}, True),
        }
        section, answers = sections[item.name]
        testing.judge_conforms(item, section, answers=answers)


def test_every_kind_of_item_is_held_to_its_contract_here() -> None:
    suites = {name.removesuffix("_conforms") for name in testing.__all__}
    named = {"labels": "label_source"}
    assert suites - {"plugin"} == {named.get(kind, kind.removesuffix("s")) for kind in KINDS}
