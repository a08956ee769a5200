"""`helix doctor`: what it finds here, and that it never shows a secret."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from helix.app.cli import main
from helix.engine.cache import open_cache
from helix.engine.store import FOLDER
from helix.model.request import Reply


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that the command runs in, without anybody's keys."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "DESK_KEY", "HELIX_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def examined(
    capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code and the findings by what they are about."""
    code = main(["doctor", "--json", *words])
    told = json.loads(capsys.readouterr().out)
    states = [one["state"] for one in told["findings"]]
    assert told["counts"] == {word: states.count(word) for word in ("ok", "warn", "fail")}
    assert all((one["fix"] is None) == (one["state"] == "ok") for one in told["findings"])
    return code, {one["about"]: one for one in told["findings"]}


def test_an_extra_that_is_not_installed_has_a_command_for_a_checkout_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = metadata.distribution

    def without_pyarrow(name: str) -> metadata.Distribution:
        if name == "pyarrow":
            raise metadata.PackageNotFoundError(name)
        return there(name)

    monkeypatch.setattr(metadata, "distribution", without_pyarrow)
    _, found = examined(capsys, "judge=none")
    assert found["extra parquet"]["state"] == "warn"
    assert "in a checkout pip install '.[parquet]'" in found["extra parquet"]["fix"]


def test_a_sound_installation_has_nothing_that_fails_and_nothing_is_left(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    code, found = examined(capsys, "judge=none")
    assert code == 0
    assert {one["state"] for one in found.values()} <= {"ok", "warn"}
    assert {"python", "packages", "extra serve", "extra parquet", "extra pytest", "plugins",
            "conf", "configuration", "judge", "cache", "paths.state",
            "hydra.run.dir"} <= found.keys()  # fmt: skip
    assert list(folder.iterdir()) == []


def test_the_text_gives_each_fix_under_its_finding(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "judge=litellm", "judge.api_key_env=DESK_KEY", "judge.model=m"]) == 2
    said = capsys.readouterr().out
    assert "fail  judge key: DESK_KEY is not set\n      fix: export DESK_KEY=KEY\n" in said
    assert said.splitlines()[-1].endswith("1 fail")
    assert max(map(len, said.splitlines())) <= 80


def test_a_key_is_told_by_its_name_and_never_by_its_value(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DESK_KEY", "sk-very-secret-1234567890")
    words = ["judge=litellm", "judge.model=openai/gpt-4o", "judge.api_key_env=DESK_KEY"]
    assert main(["doctor", *words]) == 0
    said = capsys.readouterr()
    assert "DESK_KEY is set" in said.out
    assert "very-secret" not in said.out + said.err


def test_the_keys_that_a_providers_model_needs_are_known_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["judge=litellm", "judge.model=openai/gpt-4o"]
    code, found = examined(capsys, *words)
    assert (code, found["judge key"]["state"]) == (2, "fail")
    assert "OPENAI_API_KEY" in found["judge key"]["text"]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    code, found = examined(capsys, *words)
    assert (code, found["judge key"]["state"]) == (0, "ok")
    code, found = examined(capsys, *words, "judge.base_url=http://localhost:1")
    assert (code, found["judge key"]["state"]) == (0, "ok")


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["judge=command", "judge.command=[no-such-program]"], "judge.command"),
        (["judge=scripted", "judge.script=none.py"], "judge.script"),
        (["judge=replay", "judge.dir=none"], "judge.dir"),
        (["judge.modal=m"], "configuration"),
        (["verifier=replay", "verifier.model=v"], "verifier.dir"),
        (["paths.state=file/state"], "paths.state"),
        (["hydra.run.dir=file/run/x"], "hydra.run.dir"),
    ],
)
def test_what_cannot_work_fails_by_its_name(
    words: list[str], about: str, capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "file").write_text("", encoding="utf-8")
    model = [] if about == "configuration" else ["judge.model=m"]
    code, found = examined(capsys, *words, *model)
    assert code == 2
    assert [name for name, one in found.items() if one["state"] == "fail"] == [about]


def test_a_judge_without_a_model_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    code, found = examined(capsys)
    assert (code, found["judge"]["state"]) == (0, "warn")
    assert "judge.model=NAME" in found["judge"]["fix"]


def test_a_folder_of_the_users_own_groups_is_read(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    (folder / "conf" / "judge").mkdir(parents=True)
    text = "backend: litellm\nmodel: openai/m\napi_key_env: DESK_KEY\n"
    (folder / "conf" / "judge" / "ours.yaml").write_text(text, encoding="utf-8")
    code, found = examined(capsys, "--config-dir", "conf", "judge=ours")
    assert (code, found["judge key"]["text"]) == (2, "DESK_KEY is not set")


def test_a_cache_is_counted_and_a_damaged_one_fails(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    with open_cache(".helix") as cache:
        cache.put("a" * 64, Reply(text="x"))
    assert examined(capsys, "judge=none")[1]["cache"]["text"].startswith("1 reply, ")
    database = folder / ".helix" / FOLDER / "cache.db"
    with sqlite3.connect(database) as connection:
        connection.execute("UPDATE Cache SET value = '{' ")
    connection.close()
    code, found = examined(capsys, "judge=none")
    assert (code, found["cache"]["state"]) == (2, "fail")
    database.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    code, found = examined(capsys, "judge=none")
    assert (code, found["cache"]["state"]) == (2, "fail")


def test_a_plugin_that_does_not_load_is_a_warning(folder: Path) -> None:
    info = folder / "site" / "helix_broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: helix-broken\nVersion: 1.0\n", encoding="utf-8"
    )
    (info / "entry_points.txt").write_text(
        "[helix.plugins]\nbroken = no_such_module\n", encoding="utf-8"
    )
    code = f"import sys; sys.path.insert(0, {str(folder / 'site')!r}); import runpy; " \
           "sys.argv = ['helix', 'doctor', 'judge=none']; runpy.run_module('helix', " \
           "run_name='__main__')"  # fmt: skip
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "warn  plugin broken: " in ran.stdout
    assert "no_such_module" in ran.stdout
