"""Each conformance suite fails, in a sentence, on an item that breaks its contract."""

from __future__ import annotations

import json
import os
import random
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from helix import testing
from helix.backends.scripted import Scripted, abstain
from helix.checks import Decision, Params
from helix.engine.cache import open_cache
from helix.engine.drive import drive
from helix.engine.upkeep import rows
from helix.errors import ConfigError
from helix.ingest.formats.openai_chat import FORMAT as OPENAI
from helix.model.canonical import source_digest
from helix.model.manifest import ManifestEntry
from helix.model.request import Reply, Unavailable
from helix.model.trace import Message, Observation, Source, Trace
from helix.model.verdict import Ref
from helix.registry import (
    CacheSettings,
    Case,
    Check,
    DeterminismDimension,
    Executor,
    Format,
    Fresh,
    Judge,
    LabelSource,
    Match,
    Renderer,
    ReplyCache,
    Sampler,
    SubjectContext,
    SubjectRunner,
    hookimpl,
)
from helix.registry.leaf import Leaf


def fails(told: str, suite: Callable[..., object], *given: Any, **named: Any) -> None:
    with pytest.raises(AssertionError) as raised:
        suite(*given, **named)
    assert told in str(raised.value)


# Names and versions, as of every kind.


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ("all", "takes helix.registry.Sampler (got str)"),
        (Sampler("My Sampler", "1", list), "must be lower case letters and digits"),
        (Sampler("", "1", list), "must be lower case letters and digits"),
        (Sampler("mine", "", list), "must have a version"),
    ],
)
def test_an_item_without_a_sound_name_and_version_fails(item: Any, told: str) -> None:
    fails(told, testing.sampler_conforms, item)


Entries = Sequence[ManifestEntry]


@pytest.mark.parametrize(
    ("choose", "told"),
    [
        (lambda entries, n, seed: range(len(entries)), "takes ordinals that it was not given"),
        (lambda entries, n, seed: [entries[0].ordinal] * 2 if entries else [], "takes a trace twi"),
        (lambda entries, n, seed: [e.ordinal for e in entries], "n=0 and seed=0 takes 24 traces"),
        (
            lambda entries, n, seed: random.sample([e.ordinal for e in entries], min(n or 9, 9)),
            "takes other traces when it is asked again",
        ),
        (
            lambda entries, n, seed: [e.ordinal for e in entries[: 5 if n is None else n]],
            "takes other traces when they come in another order",
        ),
        (lambda entries, n, seed: [0], "takes"),
    ],
)
def test_a_sampling_strategy_that_breaks_its_contract_fails(choose: Any, told: str) -> None:
    fails(told, testing.sampler_conforms, Sampler("mine", "1", choose))


# Formats.

ONE = b'{"mine": "t1"}\n'


def detect(value: Any) -> Match | None:
    mine = isinstance(value, dict) and isinstance(value.get("mine"), str)
    return Match("mine", specificity=9) if mine else None


def reader(**changed: Any) -> Callable[..., Iterator[Trace]]:
    """Return a reader whose traces are sound but for what is changed."""

    def read(records: Any) -> Iterator[Trace]:
        for record in records:
            source = Source(record.file, record.line, "mine", source_digest(record.data))
            trace = Trace(record.value["mine"], source, output={"response": "x"})
            for name, value in changed.items():
                setattr(trace, name, value(trace) if callable(value) else value)
            yield trace

    return read


def wrong_source(**changed: Any) -> Callable[[Trace], Source]:
    return lambda trace: replace(trace.source, **changed)


def counting() -> Callable[[Trace], dict[str, int]]:
    seen: list[int] = []
    return lambda trace: seen.append(1) or {"n": len(seen)}  # type: ignore[func-returns-value]


SAID = [Message("m", 0, "user", "x")]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"id": ""}, "must have an id, as text"),
        ({"source": wrong_source(format="other")}, "source.format must be mine (got other)"),
        ({"source": wrong_source(digest="abc")}, "source.digest must be"),
        ({"source": wrong_source(file="x")}, "source.file must be the record's file"),
        ({"transcript": [*SAID, *SAID]}, "one seq must run through"),
        ({"transcript": SAID, "observations": [Observation("m", 1, "f", input={})]}, "be unique"),
        ({"flags": ("odd",)}, "flags must be among"),
        ({"metadata": {"at": {1, 2}}}, "holds a value that is no JSON"),
        ({"metadata": {"at": (1, 2)}}, "metadata cannot be written as helix and read"),
        ({"output": counting()}, "is another when the file is read again"),
    ],
)
def test_a_format_whose_traces_are_not_sound_fails(changed: dict[str, Any], told: str) -> None:
    fails(told, testing.format_conforms, Format("mine", "1", detect, reader(**changed)), [ONE])


def test_a_sound_format_conforms_and_so_the_faults_are_those_that_were_planted() -> None:
    testing.format_conforms(Format("mine", "1", detect, reader()), [ONE], [b'{"mine": 1}'])


@pytest.mark.parametrize(
    ("item", "files", "told"),
    [
        (Format("mine", "1", lambda value: Match("any"), reader()), [ONE], "must not recognise"),
        (Format("mine", "1", detect, lambda records: []), [ONE], "does not read an example"),
        (Format("mine", "1", detect, reader()), [], "needs at least one file"),
        (Format("mine", "1", detect, reader()), [ONE * 2], "have the same id"),
        (Format("mine", "1", detect, reader()), [ONE + b"{}\n"], "line 2 of an example is not re"),
        (OPENAI, [ONE], "does not read an example: "),
    ],
)
def test_a_format_that_reads_what_it_should_not_or_nothing_fails(
    item: Format, files: list[bytes], told: str
) -> None:
    fails(told, testing.format_conforms, item, files)


def test_a_format_that_takes_foreign_files_fails() -> None:
    item = Format("mine", "1", detect, reader())
    fails("takes a foreign file for its own", testing.format_conforms, item, [ONE], [ONE])


# Checks.


class Words(Params):
    words: int = 3


class Loose(BaseModel):
    words: int = 3


SHORT = {"id": "short", "output": {"response": "one"}}
LONG = {"id": "long", "output": {"response": "one two three four"}}
EXAMPLES: dict[str, Any] = {"passes": [SHORT], "fails": [LONG]}


def count(trace: Trace) -> int:
    return len(str((trace.output or {}).get("response", "")).split())


def cited(trace: Trace, value: str | None = None) -> tuple[Ref, ...]:
    text = str((trace.output or {}).get("response", ""))
    return (Ref(obs=trace.id, path="output.response", value=value or text),)


def sound(trace: Trace, params: Any, context: Any) -> Decision:
    if not count(trace):
        return Decision("na", "nothing was said")
    return Decision("pass" if count(trace) <= params.words else "fail", "counted", cited(trace))


def changing(trace: Trace, params: Any, context: Any) -> Decision:
    trace.metadata["seen"] = True
    return sound(trace, params, context)


def peeking(trace: Trace, params: Any, context: Any) -> Decision:
    return Decision("na", "told") if trace.labels else sound(trace, params, context)


def drawing(trace: Trace, params: Any, context: Any) -> Decision:
    return replace(sound(trace, params, context), detail=str(random.random()))


def raising(trace: Trace, params: Any, context: Any) -> Decision:
    return replace(sound(trace, params, context), detail=trace.output["response"])


def green(trace: Trace, params: Any, context: Any) -> Decision:
    found = sound(trace, params, context)
    return (
        Decision("pass", "all is well", (Ref(obs=trace.id, path="output", value="null"),))
        if (found.state == "na")
        else found
    )


@pytest.mark.parametrize(
    ("decide", "told"),
    [
        (lambda t, p, c: replace(sound(t, p, c), refs=()), "pass must cite the place"),
        (lambda t, p, c: replace(sound(t, p, c), detail=" "), "needs a detail in words"),
        (lambda t, p, c: True, "must return helix.registry.Decision (got bool)"),
        (lambda t, p, c: replace(sound(t, p, c), refs=cited(t, "zwei")), "where 'zwei' does not s"),
        (lambda t, p, c: Decision("fail", "no", cited(t)), "'short' must be pass (got fail: no)"),
        (changing, "are changed by the check"),
        (peeking, "is decided by its labels"),
        (drawing, "is decided otherwise again"),
        (raising, "makes it raise TypeError"),
        (green, "a trace that holds nothing must not pass"),
    ],
)
def test_a_check_that_breaks_its_contract_fails(decide: Any, told: str) -> None:
    item = Check("mine", "1", Words, decide)
    fails(told, testing.check_conforms, item, {"words": 3}, **EXAMPLES)


@pytest.mark.parametrize(
    ("model", "params", "examples", "told"),
    [
        (Loose, {}, EXAMPLES, "must refuse a parameter that it does not know"),
        (Words, {"words": "many"}, EXAMPLES, "refuses its own example parameters"),
        (Words, {}, {"passes": [SHORT]}, "needs a trace that passes and one that fails"),
        (Words, {}, {}, "needs a trace that passes and one that fails"),
    ],
)
def test_a_check_with_loose_parameters_or_too_few_examples_fails(
    model: Any, params: dict[str, Any], examples: dict[str, Any], told: str
) -> None:
    fails(told, testing.check_conforms, Check("mine", "1", model, sound), params, **examples)


def test_a_sound_check_conforms() -> None:
    testing.check_conforms(Check("mine", "1", Words, sound), {"words": 3}, **EXAMPLES)


# Judges.


def judge(script: Callable[..., Any], **named: Any) -> Judge:
    return Judge("mine", "1", **{"protocol": 1, "open": lambda settings: Scripted(script), **named})


class Crashing(Scripted):
    async def ask(self, request: Any) -> Reply:
        raise KeyError("no such thing")


class Texting(Scripted):
    async def ask(self, request: Any) -> Any:
        return "text"


class Changing(Scripted):
    async def ask(self, request: Any) -> Reply:
        request.pin.extra["seen"] = True
        raise Unavailable("later")


def away(request: Any) -> Reply:
    raise Unavailable("gone home")


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (judge(abstain, protocol=0), "protocol must be a whole number from 1"),
        (judge(abstain, asks=False), "asks nobody"),
        (judge(abstain, open=lambda settings: Crashing(abstain)), "may raise Unavailable or Pend"),
        (judge(abstain, open=lambda settings: Texting(abstain)), "must return helix.model.reque"),
        (judge(abstain, open=lambda settings: Changing(abstain)), "changes the question"),
        (judge(lambda request: Reply("x", returned_model="other")), "returned_model must be the p"),
        (judge(lambda request: "I think it is fine."), "is of no use: malformed"),
        (judge(away), "is of no use: unavailable"),
    ],
)
def test_a_judge_that_breaks_its_contract_fails(item: Judge, told: str) -> None:
    fails(told, testing.judge_conforms, item)


# Caches.


class Wrong:
    """A cache on disk, wrong in one way."""

    def __init__(self, settings: CacheSettings) -> None:
        self._cache = open_cache(settings.state_dir)

    def get(self, key: str) -> Any:
        return self._cache.get(key)

    def put(self, key: str, reply: Reply, *, instead_of: Any = None, asked: Any = None) -> Any:
        return self._cache.put(key, reply, instead_of=instead_of)

    def close(self) -> None:
        self._cache.close()


class Forgetting(Wrong):
    def __init__(self, settings: CacheSettings) -> None:
        folder = os.path.join(settings.state_dir, os.urandom(4).hex())
        super().__init__(CacheSettings(settings.config, folder))


class Rounding(Wrong):
    def get(self, key: str) -> Any:
        found = super().get(key)
        return found and msgspec.structs.replace(found, usage=type(found.usage)(1, 0, 3))


class Guessing(Wrong):
    def get(self, key: str) -> Any:
        return super().get(key) or (super().get("a" * 64) if key[0] == "b" else None)


class Overwriting(Wrong):
    def put(self, key: str, reply: Reply, *, instead_of: Any = None, asked: Any = None) -> Any:
        stands = self._cache.get(key)
        self._cache.put(key, reply, instead_of=stands)
        return reply if stands is None else stands


class Silent(Wrong):
    def put(self, key: str, reply: Reply, *, instead_of: Any = None, asked: Any = None) -> Any:
        super().put(key, reply, instead_of=instead_of)
        return reply


class Stubborn(Wrong):
    def put(self, key: str, reply: Reply, *, instead_of: Any = None, asked: Any = None) -> Any:
        return super().put(key, reply)


class Eager(Wrong):
    def put(self, key: str, reply: Reply, *, instead_of: Any = None, asked: Any = None) -> Any:
        stands = self._cache.get(key) if instead_of is not None else None
        return super().put(key, reply, instead_of=stands)


class Listing(Wrong):
    """One whose replies helix cache may look after."""

    def __init__(self, settings: CacheSettings) -> None:
        super().__init__(settings)
        self._folder = self._cache.folder

    def put(self, key: str, reply: Reply, *, instead_of: Any = None, asked: Any = None) -> Any:
        return self._cache.put(key, reply, instead_of=instead_of, asked=asked)

    def rows(self) -> Any:
        return rows(self._folder)

    def remove(self, keys: Any) -> int:
        return self._cache.remove(keys)


class Twice(Listing):
    def rows(self) -> Any:
        return [*super().rows(), *super().rows()]


class Unasked(Listing):
    def rows(self) -> Any:
        return [replace(row, kept=replace(row.kept, asked=None)) for row in super().rows()]


class Damaging(Listing):
    def rows(self) -> Any:
        return [replace(row, kept=None, fault="it is") for row in super().rows()]


class Weightless(Listing):
    def rows(self) -> Any:
        return [replace(row, bytes=0) for row in super().rows()]


class Hopeful(Listing):
    def remove(self, keys: Any) -> int:
        super().remove(keys)
        return len(keys)


class Keeping(Listing):
    def remove(self, keys: Any) -> int:
        return 1


class Purging(Listing):
    def remove(self, keys: Any) -> int:
        super().remove([row.key for row in self.rows()])
        return 1


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (Twice, "rows must yield each row once"),
        (Unasked, "rows must yield a reply and what was asked as they were put"),
        (Damaging, "rows calls a reply damaged that get returns"),
        (Weightless, "rows must say of how many bytes a row is"),
        (Hopeful, "remove must return how many replies were there (got 2)"),
        (Keeping, "remove must remove a reply"),
        (Purging, "remove removes other replies than it names"),
        (Forgetting, "loses a reply when it is closed and opened again"),
        (Rounding, "gives back another reply than it was given"),
        (Guessing, "answers for a key that was never put"),
        (Overwriting, "a later reply takes the place of the first"),
        (Silent, "put must return the reply that was there first"),
        (Stubborn, "instead_of must replace the reply it names"),
        (Eager, "instead_of must replace nothing once another reply stands"),
    ],
)
def test_a_cache_that_breaks_its_contract_fails(kind: Any, told: str) -> None:
    fails(told, testing.cache_conforms, ReplyCache("mine", "1", kind))


def test_a_cache_that_passes_everything_on_conforms() -> None:
    testing.cache_conforms(ReplyCache("mine", "1", Wrong))
    testing.cache_conforms(ReplyCache("mine", "1", Listing))


# Executors.


async def losing(jobs: Any, askers: Any, **named: Any) -> None:
    await drive(list(jobs)[1:], askers, **named)


async def hoarding(jobs: Any, askers: Any, **named: Any) -> None:
    await drive(list(jobs), askers, **named)


async def doubling(jobs: Any, askers: Any, *, on_done: Any, **named: Any) -> None:
    await drive(jobs, askers, on_done=lambda done: (on_done(done), on_done(done)), **named)


async def hiding(jobs: Any, askers: Any, *, on_done: Any, **named: Any) -> None:
    def told(done: Any) -> None:
        on_done(replace(done, pending=False, value=0) if done.pending else done)

    await drive(jobs, askers, on_done=told, **named)


def nothing(assignment: Any) -> AsyncIterator[Any]:
    async def none() -> AsyncIterator[Any]:
        for job in ():
            yield job

    return none()


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (Executor("mine", "1"), "must have run or jobs"),
        (Executor("mine", "1", losing), "must hand over the outcome of each job once"),
        (Executor("mine", "1", doubling), "must hand over the outcome of each job once"),
        (Executor("mine", "1", hoarding), "draws jobs ahead of its room"),
        (Executor("mine", "1", hiding), "must hand over a job's value, its wait or its error"),
        (Executor("mine", "1", jobs=nothing), "writes other bytes than local does"),
    ],
)
def test_an_executor_that_breaks_its_contract_fails(item: Executor, told: str) -> None:
    fails(told, testing.executor_conforms, item)


# Renderers.


def unready() -> None:
    raise ConfigError("needs a printer")


def raw(run: Any) -> Iterator[bytes]:
    for trace in run.traces:
        yield trace.name.encode()


@pytest.mark.parametrize(
    ("item", "told"),
    [
        (Renderer("mine", "1", "../up.txt", raw), "filename must be a plain file name"),
        (Renderer("mine", "1", "mine.txt", raw, ready=unready), "not ready here: needs a printer"),
        (Renderer("mine", "1", "scorecard.json", raw), "is a file of the run itself"),
        (Renderer("mine", "1", "mine.txt", raw), "shows an escape sequence of a trace"),
        (Renderer("mine", "1", "mine.html", raw), "shows a script of a trace as it is"),
        (Renderer("mine", "1", None, raw, stream=True), "shows an escape sequence of a trace"),
        (Renderer("mine", "1", "mine.txt", lambda run: [str(run)]), "must return or yield bytes"),
        (Renderer("mine", "1", "mine.txt", lambda run: os.urandom(8)), "makes another report the"),
        (Renderer("mine", "1", "mine.txt", lambda run: run.nothing), "raises AttributeError"),
        (Renderer("mine", "1", None, lambda run: [Leaf("a", b"")]), "must print one text"),
        (Renderer("mine", "1", "mine.txt", lambda run: [Leaf("../a", b"")]), "names are not plain"),
        (Renderer("mine", "1", "mine.txt", lambda run: run.lines[0].trajectory_id.encode()),
         "given a run without traces, raises IndexError"),
        (Renderer("mine", "1", "mine.txt", lambda run: b"", lambda found: os.urandom(8)),
         "given a discovery, makes another report the second time"),
        (Renderer("mine", "1", "mine.txt", lambda run: b"",
                  lambda found: [read.id.encode() for read in found.reads]),
         "given a discovery, shows an escape sequence"),
    ],
)  # fmt: skip
def test_a_renderer_that_breaks_its_contract_fails(item: Renderer, told: str) -> None:
    fails(told, testing.renderer_conforms, item)


# Label sources.

LABEL = {"trace": "t1", "key": "k", "value": True}


@pytest.mark.parametrize(
    ("labels", "told"),
    [
        ([], "must read [('t1', 'k', True)] (got [])"),
        ([{"trace": "t1", "key": "k"}], "a label lacks value"),
        ([{**LABEL, "raters": "ada"}], "has keys that nobody reads: raters"),
        ([{**LABEL, "trace": 7}], "must name its trace, as text (got 7)"),
        (["label"], "must yield mappings (got str)"),
        ([LABEL], "a file of b'' must be a HelixError that says so (got JSONDecodeError"),
    ],
)
def test_a_label_source_that_breaks_its_contract_fails(labels: Any, told: str) -> None:
    def read(path: str) -> Iterator[Any]:
        json.loads(Path(path).read_bytes())
        yield from labels

    item = LabelSource("mine", "1", read)
    fails(told, testing.label_source_conforms, item, b"{}", [("t1", "k", True)])


def test_a_label_source_whose_rules_are_none_fails() -> None:
    item = LabelSource("mine", "1", lambda path: iter(()), ("all",))
    fails("must be KEY=CRITERION", testing.label_source_conforms, item, b"", [])


# Subject runners.


def recording(
    times: int = 1, *, again: bool = False, lost: bool = False, one_id: bool = False
) -> Any:
    def run(cases: Sequence[Case], context: SubjectContext) -> Fresh:
        files = {}
        for at, case in enumerate(cases):
            own = "r" if one_id else f"r{at}"
            record = {"schemaVersion": "1.0", "id": own, "output": {"response": "x"}}
            files[case.id] = context.folder / f"{at}.jsonl"
            if again or not files[case.id].exists():
                text = (json.dumps(record) + "\n") * times
                files[case.id].write_text(text, encoding="utf-8")
        left = dict.fromkeys(files, "gone") if lost else {}
        return Fresh({} if lost else files, left)

    return run


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (lambda cases, context: {}, "run must return Fresh (got dict)"),
        (lambda cases, context: Fresh({}), "each case must have a file, be lost or wait"),
        (
            lambda cases, context: Fresh({case.id: Path("no such file") for case in cases}),
            "the trace of case 'a/b' is not there",
        ),
        (recording(lost=True), "must run every case"),
        (recording(2), "must hold one trace (got 2)"),
        (recording(one_id=True), "must bear an id of its own (got ['r', 'r'])"),
        (recording(again=True), "must leave the traces that are there as they are"),
    ],
)
def test_a_subject_runner_that_breaks_its_contract_fails(run: Any, told: str) -> None:
    fails(told, testing.subject_conforms, SubjectRunner("mine", "1", run))


def test_a_subject_runner_that_waits_must_say_for_what() -> None:
    item = SubjectRunner("mine", "1", lambda cases, c: Fresh({}, {}, tuple(x.id for x in cases)))
    fails("must say which cases wait", testing.subject_conforms, item, waits=True)
    fails("must run every case", testing.subject_conforms, item)


def test_a_sound_subject_runner_conforms() -> None:
    testing.subject_conforms(SubjectRunner("mine", "1", recording()))


# Determinism dimensions.


@pytest.mark.parametrize(
    ("measure", "told"),
    [
        (lambda run: random.random(), "measures another value the second time"),
        (lambda run: str(run.folder), "measures another value in a copy"),
        (lambda run: {1, 2}, "must measure a value of JSON"),
        (lambda run: len((run.folder / "plan.json").read_bytes()), "must return None where a run"),
    ],
)
def test_a_dimension_that_breaks_its_contract_fails(measure: Any, told: str) -> None:
    item = DeterminismDimension("mine", "1", "plan.json", "all of it", measure)
    fails(told, testing.dimension_conforms, item)


def test_a_dimension_that_tells_equal_values_apart_fails() -> None:
    item = DeterminismDimension("mine", "1", "x", "y", lambda run: 1, same=lambda a, b: a < b)
    fails("same must hold of one value and itself", testing.dimension_conforms, item)
    fails("must say in field", testing.dimension_conforms, replace(item, field=""))


# Plugins as a whole.


def plugin(*folders: Path, samplers: Sequence[Any] = ()) -> Any:
    class Plugin:
        @hookimpl
        def helix_config_paths(self) -> list[str]:
            return [str(folder) for folder in folders]

        @hookimpl
        def helix_register_samplers(self, register: Callable[[Any], None]) -> None:
            for item in samplers:
                register(item)

    return Plugin()


SAMPLER = Sampler("mine", "1", lambda entries, n, seed: [])


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "holds no .yaml file"),
        ({"judge.yaml": "a: 1"}, "must stand in the folder of its group"),
        ({"judge/litellm.yaml": "a: 1"}, "would take the place of Helix's own judge=litellm"),
        ({"judge/mine.yaml": "- 1"}, "must hold keys and values"),
        ({"judge/mine.yaml": "a: 1\na: 2"}, "names a twice"),
        ({"judge/mine.yaml": "extra: {_target_: os.system}"}, "run nothing (got _target_)"),
    ],
)
def test_a_plugin_with_a_wrong_config_folder_fails(
    files: dict[str, str], told: str, tmp_path: Path
) -> None:
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    fails(told, testing.plugin_conforms, plugin(tmp_path))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (plugin(), "brings no item and no config folder"),
        (plugin(Path("no", "such")), "does not exist"),
        (plugin(samplers=["x"]), "takes helix.registry.Sampler (got str)"),
        (plugin(samplers=[replace(SAMPLER, name="random")]), "is registered by both"),
        (SimpleNamespace(), "has no function marked"),
    ],
)
def test_a_plugin_that_does_not_load_as_it_should_fails(given: Any, told: str) -> None:
    fails(told, testing.plugin_conforms, given)
    testing.plugin_conforms(plugin(samplers=[SAMPLER]))
