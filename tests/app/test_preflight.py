"""Configuration files that would run code, publish a secret or write elsewhere are refused."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from omegaconf import OmegaConf

from helix.app.launch import located
from helix.app.preflight import LAUNCHERS, NO_LOGGING, SWEEPER, UNCHANGED, refusals
from helix.errors import ConfigError
from tests.app.test_run import evaluate, here, runs

__all__ = ["here"]
SECRET = "sk-planted-0123456789"
WORDS = ["subject.traces=good.jsonl", "criteria.file=suite.yaml"]
RUNS = {"_target_": "os.system", "command": "touch owned"}
FILLED = "${oc.create:{_target_: os.system, command: touch owned}}"
BASIC = next(target for target, name in LAUNCHERS.items() if name == "basic")
SLURM = next(target for target, name in LAUNCHERS.items() if name == "submitit_slurm")


@pytest.fixture
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config folder of somebody else's beside the traces, the current folder being theirs."""
    monkeypatch.chdir(here)
    monkeypatch.setenv("DESK_API_KEY", SECRET)
    (here / "theirs").mkdir()
    return here / "theirs"


def put(folder: Path, place: str, value: Any, *, everywhere: bool = True) -> None:
    path = folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "# @package _global_\n" if everywhere else ""
    path.write_text(head + yaml.safe_dump(value, sort_keys=False), encoding="utf-8")


def nested(dotted: str, value: Any) -> Any:
    for part in reversed(dotted.split(".")):
        value = {part: value}
    return value


ATTACKS: dict[str, tuple[Any, str]] = {
    "hydra.callbacks": ({"c": RUNS}, "hydra.callbacks must stay"),
    "hydra.job_logging": ({"version": 1, "formatters": {"f": {"()": "os.getcwd"}}},
                          "hydra.job_logging must stay"),
    "hydra.hydra_logging": ({"version": 1, "handlers": {"h": {"class": "os.getcwd"}}},
                            "hydra.hydra_logging must stay"),
    "hydra.job.env_set": ({"PATH": "/theirs"}, "hydra.job.env_set must stay"),
    "hydra.job.env_copy": (["DESK_API_KEY"], "hydra.job.env_copy must stay"),
    "hydra.job.chdir": (True, "hydra.job.chdir must stay"),
    "hydra.mode": ("MULTIRUN", "hydra.mode must stay"),
    "hydra.output_subdir": (".hydra", "hydra.output_subdir must stay"),
    "hydra.sweeper": ({"_target_": "os.system"}, "hydra/sweeper must be basic"),
    "hydra.sweeper.params": ({"hydra.verbose": RUNS}, "params.hydra.verbose._target_ is refused"),
    "hydra.launcher": ({"_target_": "os.system"}, "hydra/launcher must be one of basic"),
    "hydra.searchpath": (["pkg://theirpackage"], "hydra.searchpath is only supported"),
    "hydra.run.dir": ("/theirs", "hydra.run.dir must stay below the current folder"),
    "hydra.run.dir up": ("outputs/../../up", "hydra.run.dir must stay below the current folder"),
    "hydra.run.dir key": ("${oc.env:DESK_API_KEY}", "hydra.run.dir holds the value of DESK_API"),
    "report.to": ({"html": "../theirs.html"}, "report.to.html must stay below the current folder"),
    "judge.extra": ({"tools": [{"a": [RUNS]}]}, "judge.extra.tools.0.a.0._target_ is refused"),
    "judge.extra env": ({"a": ["${oc.env:HOME}"]}, "judge.extra.a.0 must not read the environment"),
    "verifier.base_url": ("${oc.env:HOME}", "verifier.base_url must not read the environment"),
    "subject.name": ("${oc.env:DESK_API_KEY}", "subject.name holds the value of DESK_API_KEY"),
    "subject.purpose": ("${oc.env:${oc.decode:DESK_API_KEY}}", "subject.purpose holds the value"),
    "run.id": ("${subject.name}-${oc.env:DESK_API_KEY}", "run.id holds the value of DESK_API_KEY"),
    "paths.state": ("state-${oc.env:DESK_API_KEY}", "paths.state holds the value"),
    "discover.reader": (RUNS, "discover.reader._target_ is refused"),
    "criteria.file": ({"_target_": "os.system"}, "criteria.file._target_ is refused"),
    "judge": ({"judge": {"_target_": "os.system"}}, "judge.judge._target_ is refused"),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_file_that_would_run_code_publish_a_secret_or_write_elsewhere_is_refused(
    folder: Path, attack: str
) -> None:
    value, told = ATTACKS[attack]
    put(folder, "experiment/bad.yaml", nested(attack.partition(" ")[0], value))
    words = [w for w in WORDS if not w.startswith(f"{attack}=")]
    with pytest.raises(ConfigError) as error:
        located("evaluate", [*words, "experiment=bad"], [str(folder)])
    assert told in str(error.value)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("group", "key"), [("subject", "name"), ("criteria", "file"), ("judge", "base_url"),
                       ("paths", "state"), ("report", "out")]
)  # fmt: skip
def test_a_file_of_any_group_reaches_hydra_no_more_than_an_experiment(
    folder: Path, group: str, key: str
) -> None:
    held = {group: {key: None}, "hydra": {"callbacks": {"theirs": RUNS}}}
    put(folder, f"{group}/bad.yaml", held)
    with pytest.raises(ConfigError, match=r"hydra\.callbacks must stay"):
        located("evaluate", [*WORDS, f"{group}=bad"], [str(folder)])


@pytest.mark.parametrize(
    ("group", "form"),
    [("callbacks", "override /hydra/callbacks"), ("launcher", "override /hydra/launcher"),
     ("sweeper", "override /hydra/sweeper"), ("env", "override /hydra/env"),
     ("job_logging", "/hydra/job_logging@hydra.job_logging"),
     ("hydra_logging", "/hydra/hydra_logging@hydra.hydra_logging")],
)  # fmt: skip
def test_a_defaults_list_brings_in_no_code(folder: Path, group: str, form: str) -> None:
    put(folder, f"hydra/{group}/bad.yaml", RUNS, everywhere=False)
    put(folder, "experiment/bad.yaml", {"defaults": [{form: "bad"}]})
    with pytest.raises(ConfigError, match=rf"hydra[./]{group}"):
        located("evaluate", [*WORDS, "experiment=bad"], [str(folder)])


@pytest.mark.parametrize("name", ["pkg://theirpackage/bad", "file:///theirs/bad", "../../bad"])
def test_a_defaults_list_names_what_is_in_the_config_folders_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    package(folder.parent, monkeypatch)
    put(folder, "experiment/bad.yaml", {"defaults": [f"/subject/{name}"]})
    with pytest.raises(ConfigError):
        located("evaluate", [*WORDS, "experiment=bad"], [str(folder)])
    assert not (folder.parent / "owned").exists()


def package(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put an importable package beside the traces that tells whether it was imported."""
    (here / "theirpackage").mkdir()
    code = "from pathlib import Path\nPath('owned').touch()\n"
    (here / "theirpackage" / "__init__.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(here))


@pytest.mark.parametrize("name", ["evaluate.yaml", "base.yaml"])
def test_a_config_folder_takes_the_place_of_no_configuration_of_helix(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    package(folder.parent, monkeypatch)
    put(folder, name, {"hydra": {"searchpath": ["pkg://theirpackage"]}}, everywhere=False)
    with pytest.raises(ConfigError, match=f"must not hold {name}"):
        located("evaluate", WORDS, [str(folder)])
    assert not (folder.parent / "owned").exists()


@pytest.mark.parametrize("key", ["hydra.searchpath", "+hydra.searchpath", "++hydra.searchpath"])
def test_no_package_is_imported_because_a_word_says_to_search_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    package(folder.parent, monkeypatch)
    with pytest.raises(ConfigError, match=r"hydra\.searchpath is refused"):
        located("evaluate", [*WORDS, f"{key}=[pkg://theirpackage]"])
    assert not (folder.parent / "owned").exists()


def test_a_yaml_tag_makes_no_object(folder: Path) -> None:
    (folder / "experiment").mkdir()
    text = '# @package _global_\nsubject: !!python/object/apply:os.system ["touch owned"]\n'
    (folder / "experiment" / "bad.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="could not determine a constructor"):
        located("evaluate", [*WORDS, "experiment=bad"], [str(folder)])
    assert not (folder.parent / "owned").exists()


@pytest.mark.parametrize(
    "launcher",
    [{"_target_": BASIC, "a": RUNS}, {"_target_": BASIC, "a": FILLED},
     {"_target_": BASIC, "a": ["${judge.extra.b}"]}],
)  # fmt: skip
def test_a_sweep_makes_no_object_that_its_launcher_hides(folder: Path, launcher: Any) -> None:
    put(folder, "hydra/launcher/bad.yaml", launcher, everywhere=False)
    put(folder, "experiment/bad.yaml", {
        "defaults": [{"override /hydra/launcher": "bad"}], "judge": {"extra": {"b": FILLED}},
    })  # fmt: skip
    words = ["-m", "--config-dir", str(folder), "experiment=bad", "sampling.seed=1,2"]
    done = evaluate(folder.parent, *WORDS, *words)
    assert (done.returncode, "_target_ is refused" in done.stderr) == (2, True), done.stderr
    assert not (folder.parent / "owned").exists()
    assert not runs(folder.parent)


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        ({"setup": ["touch owned"]}, "hydra.launcher.setup must be null"),
        ({"python": "/theirs/python"}, "hydra.launcher.python must be null"),
        ({"srun_args": ["--prolog=/theirs"]}, "hydra.launcher.srun_args must be null"),
        ({"comment": "a\ntouch owned"}, "hydra.launcher.comment must be text of one line"),
        ({"additional_parameters": {"a\nb": 1}}, "hydra.launcher.additional_parameters must be"),
        ({"additional_parameters": {"a": ["b\rc"]}}, "additional_parameters.a.0 must be text of"),
        ({"submitit_folder": "/theirs"}, "hydra.launcher.submitit_folder must stay"),
        ({"additional_parameters": {"a": RUNS}}, "additional_parameters._target_ is refused"),
        ({"partition": "batch"}, None),
    ],
)
def test_a_launcher_gets_no_script_of_anybody_elses(rest: Any, told: str | None) -> None:
    hydra = {
        "callbacks": {}, "env": {}, "hydra_logging": NO_LOGGING, "job_logging": NO_LOGGING,
        "job": {"chdir": None, "env_copy": [], "env_set": {}}, "mode": None, "output_subdir": None,
        "sweeper": {"_target_": SWEEPER, "params": None},
        "launcher": {"_target_": SLURM, **rest},
    }  # fmt: skip
    assert set(UNCHANGED) <= {*hydra, *(f"job.{key}" for key in hydra["job"])}
    found = refusals(OmegaConf.create({"hydra": hydra}))
    assert (told is None and not found) or told in "".join(found).replace("a._target", "_target")


def test_the_command_line_may_write_where_no_file_may(folder: Path) -> None:
    elsewhere = os.path.join(os.path.dirname(folder.parent), "elsewhere")
    words = [f"hydra.run.dir={elsewhere}", f"report.to.html={elsewhere}.html"]
    config, run_dir = located("evaluate", [*WORDS, *words])
    assert (str(run_dir), config.report.to) == (elsewhere, {"html": f"{elsewhere}.html"})


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [("dir", "/theirs", "hydra.sweep.dir must stay below the current folder"),
     ("subdir", "../${hydra.job.num}", "hydra.sweep.subdir must stay below"),
     ("subdir", "/theirs/${hydra.job.num}", "hydra.sweep.subdir must stay below")],
)  # fmt: skip
def test_a_sweep_stays_below_its_folder(folder: Path, key: str, value: str, told: str) -> None:
    put(folder, "experiment/bad.yaml", {"hydra": {"sweep": {key: value}}})
    words = ["-m", "--config-dir", str(folder), "experiment=bad", "sampling.seed=1,2"]
    done = evaluate(folder.parent, *WORDS, *words)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_a_job_of_a_sweep_brings_in_nothing_that_the_sweep_may_not(folder: Path) -> None:
    params = {"+hydra.callbacks.c._target_": "os.getcwd"}
    put(folder, "experiment/bad.yaml", {"hydra": {"sweeper": {"params": params}}})
    done = evaluate(folder.parent, *WORDS, "-m", "--config-dir", str(folder), "experiment=bad")
    assert (done.returncode, "hydra.callbacks must stay" in done.stderr) == (2, True), done.stderr
