"""What `helix schema` says of each field: what stands below it, the vocabulary, conf/base.yaml."""

from __future__ import annotations

import json
import subprocess
import sys

import msgspec

from helix.app.commands.schema import schema
from helix.app.conf import remarks
from helix.model.criterion import Suite
from helix.model.verdict import MatrixVerdictFile
from helix.model.vocabulary import VOCABULARY


def test_a_meaning_stands_below_its_field_or_its_base_or_in_the_vocabulary() -> None:
    lines = schema("criterion-verdict")["$defs"]["CriterionVerdict"]["properties"]
    own = "The one factual sentence that the refs show; null where none was made."
    assert lines["claim"]["description"] == own
    assert lines["judgeModel"]["description"] == VOCABULARY["judge_model"]
    assert schema("verdict")["$defs"]["Verdict"]["properties"]["claim"]["description"] == own
    suite = schema("suite")["$defs"]["Criterion"]["properties"]
    assert suite["fewShot"]["description"] == suite["few_shot"]["description"]
    assert suite["class"]["description"].startswith("Who decides it")


def test_an_editor_is_told_of_every_configuration_key_what_base_yaml_says() -> None:
    parts = schema("config")["$defs"]
    told = {remark.key: remark.text for remark in remarks()}
    keys = parts["VerifierConfig"]["properties"]
    assert keys["verify"]["description"] == told["verifier.verify"]
    assert keys["model"]["description"] == told["judge.model"]
    assert parts["RatePolicy"]["properties"]["target"]["description"] == told["gate.rate.target"]
    silent = [
        f"{name}.{key}"
        for name, part in parts.items()
        for key, one in part["properties"].items()
        if "description" not in one and "$ref" not in one
    ]
    assert silent == []


def test_what_helix_works_with_holds_no_meaning() -> None:
    """So that no prompt, digest or start changes with one."""
    said = VOCABULARY["cause"], "Its rows; ids are unique.", "The cells that pass, fail"
    shapes = json.dumps([msgspec.json.schema(MatrixVerdictFile), Suite.model_json_schema()])
    assert [one for one in said if one in shapes] == []


def test_no_source_is_read_when_helix_starts() -> None:
    code = "import sys, helix, helix.app.launch; print('helix.app.meanings' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
