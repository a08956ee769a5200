"""conf/ and the model say the same; every choice composes; every key is explained."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from helix.app import keys, manual
from helix.app.compose import compose, opened, placed, typed, validated
from helix.app.conf import conf_dir, groups, remarks
from helix.errors import HelixError
from helix.model.config import Config

GIVEN = ["subject.traces=x.jsonl", "criteria.file=x.yaml"]
CHOICES = [(group, option) for group, options in groups().items() for option in options]


def composed(*words: str) -> Config:
    """Compose and validate a configuration as `helix evaluate` does."""
    with opened("evaluate", []) as hydra:
        overrides = typed(words, sorted(groups()), multirun=False)
        found = compose(hydra, "evaluate", [o.word for o in overrides])
        return validated(placed(found, "out"), overrides)


def test_the_composed_defaults_are_the_defaults_of_the_model() -> None:
    config = composed(*GIVEN)
    plain = Config.model_validate(
        {"subject": {"traces": "x.jsonl"}, "criteria": {"file": "x.yaml"}}
    )
    assert config == plain


def test_base_holds_exactly_the_keys_of_the_model() -> None:
    base = yaml.safe_load((conf_dir() / "base.yaml").read_text(encoding="utf-8"))
    held = set()
    for section, values in base.items():
        if section in ("defaults", "hydra"):
            continue
        for name, value in values.items():
            nested = isinstance(value, dict) and value
            held |= {f"{section}.{name}.{n}" for n in value} if nested else {f"{section}.{name}"}
    assert held == {name for name in keys.names() if not name.startswith("gate.per_task.")}


def test_every_key_is_explained_and_stands_in_the_manual() -> None:
    explained = [remark.key for remark in remarks()]
    expected = [
        name
        for name in keys.names()
        if not name.startswith("gate.per_task.")
        and (not name.startswith("verifier.") or name in ("verifier.backend", "verifier.verify"))
    ]
    assert sorted(explained) == sorted(expected)
    for command in manual.PAGES:
        page = manual.page(command)
        absent = [key for key in expected if f"  {key} " not in page]
        own = [name for name, of in manual.OWN_SECTIONS.items() if of == command]
        if own:
            first = page.partition("KEYS (")[2].splitlines()[2]
            assert first.startswith(f"  {own[0]}."), "the command's own keys stand first"
        foreign = {name for name, of in manual.OWN_SECTIONS.items() if of != command}
        assert absent == [key for key in expected if key.partition(".")[0] in foreign]
        assert max(map(len, page.splitlines())) <= 100


@pytest.mark.parametrize(("group", "option"), CHOICES)
def test_every_choice_of_every_group_composes(group: str, option: str) -> None:
    composed(*GIVEN, f"{group}={option}")


def test_who_may_judge_may_verify_and_a_verifier_may_be_the_judges_model_too() -> None:
    assert {*groups()["verifier"]} == {*groups()["judge"], "same"}


def test_the_demo_needs_nothing_else() -> None:
    config = composed("experiment=demo")
    assert config.subject.traces == "demo:outreach"
    assert config.gate.exit == "advisory"
    assert config.criteria.file is not None and Path(config.criteria.file).is_file()


def test_no_folder_of_conf_is_empty() -> None:
    folders = [path for path in conf_dir().rglob("*") if path.is_dir()]
    assert [folder for folder in folders if not any(folder.glob("*.yaml"))] == []


def test_conf_is_found_in_a_package_and_beside_one(tmp_path: Path) -> None:
    package = tmp_path / "helix"
    package.mkdir()
    with pytest.raises(HelixError, match="install Helix again"):
        conf_dir(package)
    shutil.copytree(conf_dir(), tmp_path / "conf")
    assert conf_dir(package) == tmp_path / "conf"
    shutil.copytree(conf_dir(), package / "conf")
    assert conf_dir(package) == package / "conf"


@pytest.mark.parametrize(
    ("word", "section", "name", "expected"),
    [
        ("judge.extra.window=8192", "judge", "extra", {"window": 8192}),
        ("+judge.extra.window=8192", "judge", "extra", {"window": 8192}),
        ("report.to.html=a#b.html", "report", "to", {"html": "a#b.html"}),
        ("judge.model=1e3", "judge", "model", "1e3"),
        ("judge.model=007", "judge", "model", "007"),
        ("select.traces=42", "select", "traces", ("42",)),
        ("select.criteria=A,B", "select", "criteria", ("A", "B")),
        ("sampling.n=null", "sampling", "n", None),
        ("run.dry=true", "run", "dry", True),
        ("limits.rate=1e3", "limits", "rate", 1000.0),
    ],
)
def test_an_override_arrives_with_its_type(
    word: str, section: str, name: str, expected: object
) -> None:
    assert getattr(getattr(composed(*GIVEN, word), section), name) == expected


def test_a_section_that_is_null_by_default_can_be_given_key_by_key() -> None:
    config = composed(*GIVEN, "gate.per_task.k=2", "gate.per_task.n=3")
    assert config.gate.per_task is not None
    assert (config.gate.per_task.k, config.gate.per_task.n) == (2, 3)
