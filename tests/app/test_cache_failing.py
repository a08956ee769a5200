"""The reply cache fails before a run, or in the middle of it: nothing paid for or done is lost.

The judge's script breaks the cache for real while the run goes on: the room for its files ends, its
bytes are overwritten, its folder goes, its permission is taken.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from helix.engine.cache import open_cache
from tests.app.test_cache_export import SCRIPT, SUITE

pytestmark = pytest.mark.slow
TRACES, QUESTIONS, AT = 8, 16, 5
SPOILING = """\
import os, pathlib, resource, shutil

def spoil(kind):
    cache = pathlib.Path("state/cache")
    if kind == "full":
        size = (cache / "cache.db-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    elif kind == "corrupt":
        for file in cache.glob("cache.db*"):
            with open(file, "r+b") as opened:
                opened.write(b"rubbish " * 2_000)
    elif kind == "gone":
        shutil.rmtree(cache)
    elif kind == "taken":
        for file in cache.glob("cache.db*"):
            file.chmod(0o400)
        cache.chmod(0o500)

"""
COUNTING = """\
def judge(request):
    with open("asked", "a") as file:
        file.write(".")
        asked = file.tell()
    if asked == {at}:
        spoil(os.environ.get("SPOIL"))
"""
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, PR_CAPBSET_DROP = 1, 2, 24


@pytest.fixture
def here(tmp_path: Path) -> Path:
    lines = [
        {"schemaVersion": "1.0", "id": f"t{n}", "output": {"response": "Hello Ada, welcome."}}
        for n in range(TRACES)
    ]
    (tmp_path / "runs.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    (tmp_path / "suite.yaml").write_text(SUITE, encoding="utf-8")
    script = SPOILING + SCRIPT.replace("def judge(request):\n", COUNTING.format(at=AT))
    # One question and one check of its verdict for each trace.
    script = script.replace('request.unit.trace_id == "t1"', "False")
    (tmp_path / "judge.py").write_text(script, encoding="utf-8")
    return tmp_path


def as_anybody() -> None:
    """Let the permissions of files hold for root too."""
    if os.geteuid() == 0:
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability)


def evaluated(
    here: Path, spoil: str = "", run: str = "run", state: str = "state"
) -> tuple[int, str]:
    """Run the same command; return its exit code and what it said."""
    words = ["subject.traces=runs.jsonl", "criteria.file=suite.yaml", "judge=scripted"]
    words += ["judge.model=m", "judge.script=judge.py", "limits.concurrency=1"]
    words += [f"paths.state={state}", f"hydra.run.dir={run}", "report.out=[terminal]"]
    done = subprocess.run(
        [sys.executable, "-m", "helix", "evaluate", *words],
        cwd=here,
        env={**os.environ, "SPOIL": spoil},
        capture_output=True,
        encoding="utf-8",
        preexec_fn=as_anybody,
        check=False,
    )
    return done.returncode, done.stderr


def asked(here: Path) -> int:
    file = here / "asked"
    return file.stat().st_size if file.exists() else 0


def lines(here: Path, run: str = "run") -> list[str]:
    return (here / run / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()


def mended(here: Path, told: str) -> None:
    """Do what the message says, where it names a command."""
    if "mv " in told:
        source, target = told.partition("mv ")[2].partition(";")[0].split()
        shutil.move(source, target)


@pytest.mark.parametrize(
    ("spoil", "told", "again"),
    [
        ("full", "disk I/O error; make room on its disk", QUESTIONS - AT + 1),
        ("corrupt", "file is not a database; if it is damaged, move the folder away", QUESTIONS),
        ("gone", "is gone: it was removed or moved during the run", QUESTIONS),
    ],
)
def test_a_cache_that_breaks_in_the_middle_ends_the_run_and_the_same_command_goes_on(
    here: Path, spoil: str, told: str, again: int
) -> None:
    code, said = evaluated(here, run="whole", state="other")
    assert code == 0, said
    assert asked(here) == QUESTIONS
    whole = lines(here, "whole")
    (here / "asked").unlink()
    code, said = evaluated(here, spoil)
    assert code == 4, said
    assert told in said
    assert str(here / "state" / "cache") in said
    assert "Traceback" not in said
    assert asked(here) == AT, "nothing more is asked once a reply could not be kept"
    assert lines(here) == whole[: (AT - 1) // 2], "what was done stays"
    assert not (here / "run" / "scorecard.json").exists()
    mended(here, said)
    code, said = evaluated(here)
    assert code == 0, said
    assert asked(here) == AT + again
    assert lines(here) == whole


def test_a_cache_that_stays_broken_takes_no_line_of_the_run_before(here: Path) -> None:
    assert evaluated(here, "corrupt")[0] == 4
    before = lines(here)
    code, said = evaluated(here)
    assert (code, asked(here)) == (4, AT), said
    assert lines(here) == before != []


def test_a_permission_that_is_taken_in_the_middle_loses_no_reply(here: Path) -> None:
    code, said = evaluated(here, "taken")
    assert code == 0, said
    code, said = evaluated(here, run="second")
    assert code == 4, said
    command = said.partition("make it writable (")[2].partition(")")[0]
    assert command == f"chmod -R u+rwX {here / 'state' / 'cache'}"
    assert asked(here) == QUESTIONS
    subprocess.run(command.split(), check=True)
    assert evaluated(here, run="second")[0] == 0
    assert asked(here) == QUESTIONS, "every reply was kept"
    assert lines(here, "second") == lines(here)


def _no_folder(state: Path) -> None:
    state.mkdir(mode=0o500)


def _no_database(state: Path) -> None:
    open_cache(str(state)).close()
    (state / "cache" / "cache.db").chmod(0o400)
    (state / "cache").chmod(0o500)


def _a_file(state: Path) -> None:
    state.mkdir()
    (state / "cache").write_text("mine", encoding="utf-8")


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (_no_folder, "cannot be opened: Permission denied; set paths.state to a folder"),
        (_no_database, "make it writable (chmod -R u+rwX "),
        (_a_file, "cannot be opened: File exists; set paths.state to a folder"),
    ],
)
def test_a_cache_that_cannot_be_written_is_an_error_before_anything_is_asked(
    here: Path, spoil: Callable[[Path], None], told: str
) -> None:
    spoil(here / "state")
    code, said = evaluated(here)
    assert (code, asked(here)) == (4, 0), said
    assert told in said
    assert evaluated(here, state="elsewhere")[0] == 0, "what to type helps"


def test_a_full_disk_is_an_error_before_anything_is_asked(here: Path) -> None:
    code = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)); "
    code += "from helix.app.cli import main; sys.exit(main(sys.argv[1:]))"
    words = ["subject.traces=runs.jsonl", "criteria.file=suite.yaml", "judge=scripted"]
    words += ["judge.model=m", "judge.script=judge.py", "paths.state=state", "hydra.run.dir=run"]
    done = subprocess.run(
        [sys.executable, "-c", code, "evaluate", *words],
        cwd=here,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, asked(here)) == (4, 0), done.stderr
    assert "make room on its disk, or set paths.state to another" in done.stderr
