"""Dispatch: tasks go out as files, answers come back as files, and nothing else gets in."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix.backends.dispatch import GUIDE, PROTOCOL, Dispatch, Tray, trays
from helix.errors import BackendError, ConfigError
from helix.model.config import JudgeConfig, VerifierConfig
from helix.model.lines import decode_line
from helix.model.request import Message, Pending, Pin, Reply, Request, Unit
from helix.model.task import JudgeTask, request_of, task_of, task_page
from helix.registry import JudgeSettings, load

NONCE = "5f" * 16
SCHEMA = {"type": "object"}


def request(prompt: str = "Judge\nthis.", **changes: Any) -> Request:
    unit = Unit("judge", "trajectory", "t/1", "d", ("polite",), "c", 0)
    asked = Request(
        unit,
        Pin("dispatch", "someone", "dispatch:someone"),
        (Message("system", "Be fair.\n"), Message("user", prompt)),
        NONCE,
        SCHEMA,
    )
    own = ("role", "axis", "attempt", "criteria")
    about = {name: changes.pop(name) for name in own if name in changes}
    asked = msgspec.structs.replace(asked, unit=msgspec.structs.replace(unit, **about))
    return msgspec.structs.replace(asked, **changes)


def answer(**changes: Any) -> dict[str, Any]:
    verdict = {
        "criterionId": "polite",
        "bindings": [],
        "refs": [{"obs": "m1", "path": "text", "value": "please"}],
        "claim": "It says please.",
        "critique": "It does say please.",
        "litmus": {"premise": ""},
        "result": "pass",
    }
    whole = {
        "nonce": NONCE,
        "reviewer": "Ada",
        "understanding": {"rephrase": "A desk."},
        "expectedTrajectory": [{"expected": "To say please."}],
        "judgeSteps": [{"kind": "gather", "text": "Read it."}],
        "fidelity": {"complete": True},
        "verdicts": [verdict],
    }
    return {**whole, **changes}


class Desk:
    """A folder of tasks, asked like a judge and answered like a person."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder = root, root / "state" / "dispatch"
        self.run = root / "run"
        self.run.mkdir(parents=True, exist_ok=True)

    def open(self, kind: type[JudgeConfig] = JudgeConfig, **config: Any) -> Dispatch:
        opened = (
            load([])
            .get("judges", "dispatch")
            .open(
                JudgeSettings(
                    kind(backend="dispatch", **config), str(self.root / "state"), str(self.run)
                )
            )
        )
        assert isinstance(opened, Dispatch)
        return opened

    def ask(self, asked: Request | None = None, backend: Dispatch | None = None) -> Reply | None:
        """Return the reply; None where the task waits."""
        asked, backend = asked or request(), backend or self.open()
        self.last = backend

        async def main() -> Reply:
            async with backend:
                return await backend.ask(asked)

        try:
            return asyncio.run(main())
        except Pending as waits:
            assert waits.key == asked.cache_key(PROTOCOL)
            return None

    def place(self, asked: Request | None = None) -> Path:
        return self.folder / f"{(asked or request()).cache_key(PROTOCOL)}.verdict.json"

    def put(self, content: Any, asked: Request | None = None) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.place(asked).write_bytes(data)
        return self.place(asked)

    @property
    def tray(self) -> Tray:
        (found,) = trays([self.last])
        return found

    @property
    def fault(self) -> str | None:
        (waits,) = self.tray.waiting
        return waits.fault

    def names(self) -> list[str]:
        """Return the names of what lies there, but for what is said to git."""
        found = {p.name for p in self.folder.iterdir()} - {".gitignore"}
        return sorted(re.sub("[0-9a-f]{64}", "KEY", name) for name in found)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_question_becomes_a_task_with_a_guide_a_rubric_and_a_copy_in_the_run(desk: Desk) -> None:
    assert desk.ask() is None
    assert desk.names() == ["KEY.packet.json", GUIDE, "rubric-trajectory.md"]
    key = request().cache_key(PROTOCOL)
    task = json.loads((desk.folder / f"{key}.packet.json").read_text("utf-8"))
    assert task["key"] == key
    assert task["unit"]["kind"] == "judge" and task["unit"]["axis"] == "trajectory"
    assert task["user"] == ["Judge", "this."] and task["system"] == ["Be fair.", ""]
    assert task["answer"] == str(desk.place())
    lines = (desk.folder / f"{key}.packet.json").read_text("utf-8").splitlines()
    assert lines[lines.index('  "user": [') + 1 :][:2] == ['    "Judge",', '    "this."']
    assert task["nonce"] == NONCE and task["pin"]["temperature"] == 0.0
    assert task["replySchema"] == SCHEMA
    copy = desk.run / "dispatch" / f"{key}.packet.json"
    assert copy.read_bytes() == (desk.folder / copy.name).read_bytes()
    assert (desk.folder / "rubric-trajectory.md").read_text("utf-8") == "Be fair.\n\n"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "packet"),
        ({"attempt": 1}, "packet"),
        ({"axis": "criterion"}, "task"),
        ({"axis": "code-quality"}, "task"),
        ({"role": "verifier"}, "task"),
        ({"criteria": ()}, "task"),
    ],
)
def test_a_packet_is_always_of_the_trajectory_axis(
    desk: Desk, changes: dict[str, Any], name: str
) -> None:
    desk.ask(request(**changes))
    assert [n for n in desk.names() if n.startswith("KEY")] == [f"KEY.{name}.json"]


def test_a_task_about_one_criterion_names_it(desk: Desk) -> None:
    task = task_of(request(axis="criterion"), "k", "k.verdict.json")
    assert task.unit.criterion_id == "polite"
    assert task_of(request(), "k", "a").unit.criterion_id is None


def test_the_answer_about_one_criterion_is_its_verdict(desk: Desk) -> None:
    asked = request(axis="criterion")
    (verdict,) = answer()["verdicts"]
    desk.put(answer(), asked)
    assert desk.ask(asked) is None
    assert desk.fault == "answer with the one verdict itself, not with a list of them"
    desk.put({"nonce": NONCE, "reviewer": "Ada", **verdict}, asked)
    assert desk.ask(asked) is not None
    assert desk.names() == ["KEY.task.json", "KEY.verdict.json", GUIDE, "rubric-criterion.md"]


def test_the_answer_about_what_is_expected_is_a_list_of_steps(desk: Desk) -> None:
    asked = request(criteria=())
    desk.put({"nonce": NONCE, "reviewer": "Ada", "expectedTrajectory": []}, asked)
    assert desk.ask(asked) is None
    assert desk.fault == "expectedTrajectory must hold at least one step"
    steps = [{"expected": "To say please."}]
    desk.put({"nonce": NONCE, "reviewer": "Ada", "expectedTrajectory": steps}, asked)
    assert desk.ask(asked) is not None
    assert "rubric-expectation.md" in desk.names()


def test_an_unknown_kind_is_an_error() -> None:
    page = task_page(task_of(request(), "k", "a")).replace(b'"judge"', b'"oracle"', 1)
    with pytest.raises(ValueError, match="oracle"):
        decode_line(page, JudgeTask)


TEXTS = st.text(alphabet=st.characters(codec=None), max_size=40)


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS, max_size=4), st.booleans())
def test_a_task_holds_its_question_letter_by_letter(texts: list[str], ruled: bool) -> None:
    roles: list[Any] = ["system", "user", "assistant", "user"]
    messages = [Message(role, text) for role, text in zip(roles, texts, strict=False)]
    asked = request(messages=tuple(messages if ruled else messages[1:]))
    key = asked.cache_key(PROTOCOL)
    found: JudgeTask = decode_line(task_page(task_of(asked, key, "a")), JudgeTask)
    assert request_of(found) == asked
    assert request_of(found).cache_key(PROTOCOL) == key


def test_an_answer_is_read_with_the_name_of_its_reviewer(desk: Desk) -> None:
    desk.ask()
    desk.put(answer(reviewer="  Ada L. "))
    reply = desk.ask()
    assert reply is not None
    assert (reply.made_by, reply.returned_model) == ("Ada L.", None)
    assert json.loads(reply.text)["verdicts"][0]["result"] == "pass"
    assert desk.tray == Tray(str(desk.folder), copies=str(desk.run / "dispatch"))


def test_an_answer_without_its_task_beside_it_is_read_too(desk: Desk) -> None:
    desk.put(answer())
    assert desk.ask() is not None
    assert desk.names() == ["KEY.verdict.json"]


def _without(name: str) -> dict[str, Any]:
    return {key: value for key, value in answer().items() if key != name}


def _verdict(**changes: Any) -> dict[str, Any]:
    (verdict,) = answer()["verdicts"]
    return answer(verdicts=[{**verdict, **changes}])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"pass", "no JSON object in it"),
        (b'{"nonce":', "cut off or no sound JSON"),
        (b"\xff\xfe{", r"is not UTF-8 \(byte 0\)"),
        (json.dumps(answer()).encode("utf-16"), "is not UTF-8"),
        (answer(nonce="ab"), f"the nonce must be {NONCE}"),
        (_without("nonce"), "the nonce must be"),
        (_without("reviewer"), '"reviewer" must name who judged'),
        (answer(reviewer=""), '"reviewer" must name who judged'),
        (answer(reviewer="\u3164"), '"reviewer" must name who judged'),
        (answer(reviewer=7), '"reviewer" must name who judged'),
        (answer(reviewer="A\nB"), "must be one line"),
        (answer(reviewer="A" * 101), "at most 100 characters"),
        (answer(verdicts=[]), "no verdict for: polite"),
        (_verdict(result="maybe"), "result must be pass, fail or uncertain"),
        (_verdict(critique=" "), "'polite' has no critique"),
        (_verdict(criterionId="rude"), "'rude' is not one of the rows"),
        (_verdict(refs="m1"), "not in the asked shape"),
        ([answer(), answer()], "a list of 2"),
        (b"[" * 100_000, "no JSON object in it|braces|cut off"),
        (b'{"nonce":"' + NONCE.encode() + b'","nonce":"x"}', "the key 'nonce' stands twice"),
    ],
)
def test_a_file_that_is_no_answer_is_named_with_its_fault_and_its_task_waits(
    desk: Desk, content: Any, told: str
) -> None:
    desk.put(content)
    assert desk.ask() is None
    assert re.search(told, desk.fault or ""), desk.fault
    assert "KEY.packet.json" in desk.names(), "the task is there to be answered"
    desk.put(answer())
    assert desk.ask() is not None, "the mended file is read"


def _link(place: Path) -> None:
    elsewhere = place.with_name("elsewhere")
    elsewhere.write_text(json.dumps(answer()), encoding="utf-8")
    place.symlink_to(elsewhere)


def _huge(place: Path) -> None:
    with open(place, "wb") as file:
        file.truncate(9_000_000)


@pytest.mark.parametrize(
    ("plant", "told"),
    [
        (_link, "symbolic link"),
        (lambda place: place.symlink_to("nowhere"), "symbolic link"),
        (lambda place: place.mkdir(), "no plain file"),
        (lambda place: os.mkfifo(place), "no plain file"),
        (_huge, "has 9,000,000 bytes; an answer has at most 8,000,000"),
    ],
)
def test_what_is_no_plain_file_of_fair_size_is_never_opened(
    desk: Desk, plant: Any, told: str
) -> None:
    desk.folder.mkdir(parents=True)
    plant(desk.place())
    assert desk.ask() is None
    assert told in (desk.fault or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read anything")
def test_a_file_that_may_not_be_read_is_named(desk: Desk) -> None:
    desk.put(answer()).chmod(0)
    assert desk.ask() is None
    assert "cannot be read" in (desk.fault or "")


@pytest.mark.parametrize("name", ["ada l", " ADA  L ", "Ａｄａ L"])
def test_who_judged_may_not_verify_however_the_name_is_spelled(desk: Desk, name: str) -> None:
    asked = request(role="verifier", not_by=("Ada L",))
    desk.put(answer(reviewer=name), asked)
    assert desk.ask(asked) is None
    assert "another reviewer must answer" in (desk.fault or "")


def test_who_may_not_answer_stands_in_the_task_and_in_no_key(desk: Desk) -> None:
    asked = request(role="verifier", not_by=("Ada",))
    desk.ask(asked)
    key = asked.cache_key(PROTOCOL)
    assert key == request(role="verifier").cache_key(PROTOCOL)
    assert json.loads((desk.folder / f"{key}.task.json").read_text("utf-8"))["notBy"] == ["Ada"]


def _edited(desk: Desk, asked: Request) -> Path:
    place = desk.folder / f"{asked.cache_key(PROTOCOL)}.packet.json"
    place.write_text(place.read_text("utf-8").replace("this.", "that."), encoding="utf-8")
    return place


def test_an_edited_task_never_lends_its_answer(desk: Desk) -> None:
    desk.ask()
    place = _edited(desk, request())
    edited = place.read_bytes()
    desk.put(answer())
    for _ in range(2):
        assert desk.ask() is None
        assert "was changed after it was written" in (desk.fault or "")
        assert place.read_bytes() == edited, "both files are kept for whoever changed it"
    place.unlink()
    desk.place().unlink()
    assert desk.ask() is None and desk.fault is None
    desk.put(answer())
    assert desk.ask() is not None


def test_an_edited_task_without_an_answer_is_put_right(desk: Desk) -> None:
    desk.ask()
    before = (desk.folder / f"{request().cache_key(PROTOCOL)}.packet.json").read_bytes()
    place = _edited(desk, request())
    assert desk.ask() is None and desk.fault is None
    assert place.read_bytes() == before


def test_another_prompt_is_another_task_and_the_old_answer_is_listed_and_not_used(
    desk: Desk,
) -> None:
    desk.ask()
    old = desk.put(answer())
    (desk.folder / "verdict.json").write_text("{}", encoding="utf-8")
    assert desk.ask(request("Judge that.")) is None
    mistyped = f"{desk.place(request('Judge that.')).name}.txt"
    (desk.folder / mistyped).write_text("{}", encoding="utf-8")
    assert set(desk.tray.unused) == {old.name, mistyped, "verdict.json"}
    assert desk.tray.idle == ()
    old.unlink()
    assert desk.tray.idle == (f"{request().cache_key(PROTOCOL)}.packet.json",)


def test_running_again_rewrites_nothing(desk: Desk) -> None:
    desk.ask()

    def times() -> dict[str, int]:
        return {p.name: p.stat().st_mtime_ns for p in desk.folder.iterdir()}

    before = times()
    desk.ask()
    assert times() == before
    (desk.folder / GUIDE).write_text("mine", encoding="utf-8")
    desk.ask()
    assert times() != before, "the guide is put right"


def test_the_copies_in_a_run_are_those_that_wait_in_it(desk: Desk) -> None:
    desk.ask()
    copies = desk.run / "dispatch"
    (copies / "mine.txt").write_text("kept", encoding="utf-8")
    desk.put(answer())
    desk.ask()
    assert [p.name for p in copies.iterdir()] == ["mine.txt"]


def test_git_passes_over_the_folder_unless_somebody_named_it(desk: Desk, tmp_path: Path) -> None:
    desk.ask()
    desk.ask(backend=desk.open(dir=str(tmp_path / "ours")))
    assert (desk.folder / ".gitignore").is_file() and (tmp_path / "ours" / GUIDE).is_file()
    assert not (tmp_path / "ours" / ".gitignore").exists()


def test_opening_makes_nothing(desk: Desk) -> None:
    desk.open()
    assert not desk.folder.exists() and not list(desk.run.iterdir())


def test_a_folder_of_its_own_can_be_named(desk: Desk) -> None:
    backend = desk.open(dir=str(desk.root / "own"))
    desk.ask(backend=backend)
    assert (desk.root / "own" / GUIDE).is_file() and not desk.folder.exists()


@pytest.mark.parametrize(
    ("kind", "section"), [(JudgeConfig, "judge"), (VerifierConfig, "verifier")]
)
def test_what_is_no_folder_is_refused_before_anything_is_asked(
    desk: Desk, kind: type[JudgeConfig], section: str
) -> None:
    (desk.root / "file").write_text("", encoding="utf-8")
    (desk.root / "dangling").symlink_to(desk.root / "nowhere")
    for name in ("file", "file/below", "dangling"):
        with pytest.raises(ConfigError, match=rf"{section}\.dir must be a folder"):
            desk.open(kind, dir=str(desk.root / name))


def test_a_folder_of_recordings_is_not_filled_with_questions(desk: Desk) -> None:
    (desk.root / "own").mkdir()
    (desk.root / "own" / "replies.jsonl").write_text("{}", encoding="utf-8")
    with pytest.raises(ConfigError, match="which holds recordings"):
        desk.open(dir=str(desk.root / "own"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_says_so(desk: Desk) -> None:
    desk.folder.mkdir(parents=True)
    desk.folder.chmod(0o500)
    with pytest.raises(BackendError, match=r"judge\.dir: .*set judge\.dir to a folder"):
        desk.ask()


def test_a_folder_in_the_place_of_a_task_says_so(desk: Desk) -> None:
    (desk.folder / f"{request().cache_key(PROTOCOL)}.packet.json").mkdir(parents=True)
    with pytest.raises(BackendError, match="cannot be written"):
        desk.ask()


def test_a_link_in_the_place_of_a_task_is_replaced_and_not_followed(desk: Desk) -> None:
    desk.folder.mkdir(parents=True)
    victim = desk.root / "victim"
    victim.write_text("mine", encoding="utf-8")
    place = desk.folder / f"{request().cache_key(PROTOCOL)}.packet.json"
    place.symlink_to(victim)
    desk.ask()
    assert victim.read_text("utf-8") == "mine" and not place.is_symlink()


@pytest.mark.parametrize("name", ["task", "README.md", "rubric-trajectory.md"])
def test_a_pipe_in_the_place_of_a_file_is_replaced_and_not_waited_for(
    desk: Desk, name: str
) -> None:
    assert desk.ask() is None
    place = next(desk.folder.glob("*.packet.json")) if name == "task" else desk.folder / name
    was = place.read_bytes()
    place.unlink()
    os.mkfifo(place)
    assert desk.ask() is None
    assert place.is_file()
    assert place.read_bytes() == was


def test_judge_and_verifier_share_what_is_known_of_a_folder(desk: Desk) -> None:
    judge, verifier = desk.open(), desk.open(VerifierConfig)
    desk.put(answer())
    asked = request("Refute this.", role="verifier")
    assert desk.ask(backend=judge) is not None
    assert desk.ask(asked, backend=verifier) is None
    (tray,) = trays([judge, verifier])
    assert [task.role for task in tray.waiting] == ["verifier"]
    assert tray.unused == (), "the judge's answer was used, though not by the verifier"


PROCESS = """\
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_dispatch import Desk, request

desk = Desk(Path(sys.argv[2]))
backend = desk.open()
for number in range(8):
    desk.ask(request(f"Judge {number}."), backend)
"""


def test_two_processes_write_one_folder(desk: Desk) -> None:
    words = [sys.executable, "-c", PROCESS, str(Path(__file__).parent), str(desk.root)]
    both = [subprocess.Popen(words) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    for number in range(8):
        asked = request(f"Judge {number}.")
        place = desk.folder / f"{asked.cache_key(PROTOCOL)}.packet.json"
        assert request_of(decode_line(place.read_bytes(), JudgeTask)) == asked
    assert len(desk.names()) == 10, "nothing half written is left"
