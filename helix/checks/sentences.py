"""Which sentences of a reply say that something was done (English).

A claim is a past tense or perfect of the first person (“I have cancelled”, “we went ahead and
sent”), of somebody who acts for it (“our team has shipped”), or a passive (“has been credited”).
What is denied, asked, offered, promised, supposed, told of the past in a side clause, or quoted
is no claim. An arrangement is what others are said to be going to do (“a courier will collect”),
or what is said to be under way (“we are sending you a label”).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from helix.checks.parameters import Span
from helix.checks.verbs import KNOWN, LOOK, NARRATED, NO_DEED, bases

_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?=\w)[^.!?\n]*)*[.!?\n]?")
_PART = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|[,;:()–—]")
_QUOTED = re.compile(r'"[^"\n]{0,500}"|“[^”\n]{0,500}”|«[^»\n]{0,500}»|`[^`\n]{0,500}`')
_SHORT = {
    "'ve": ("have",), "'ll": ("will",), "'d": ("would",), "'m": ("am",), "'re": ("are",),
    "n't": ("not",),
}  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_I = _words("i we")
_SIDE = _words(
    "because since as if unless when whenever once until while where whether after before although "
    "though who whose whom which than provided"
)
_JOIN = _words("and but so or then that")
_NOT = _words(
    "not never neither nor no cannot unable without hardly barely yet nothing nobody none"
)
_MODAL = _words("can could will would shall should may might must need want wish like hope")
_FILL = _words(
    "also already just now then further additionally accordingly therefore both all "
    "meanwhile gladly kindly even instead again finally fully personally today myself ourselves "
    "too first next still duly separately as well ahead"
)
_AGENTS = _words(
    "team colleague colleagues specialist agent manager warehouse department system bank courier "
    "driver technician supervisor staff representative store seller partner supplier carrier "
    "office company engineer depot"
)
_PRONOUNS = _words(
    "i we you it this that these those they he she there who which what nobody none nothing"
)
_HEARD = _words(
    "see understand notice noticed found find hear heard mention mentioned said say says state "
    "stated states report reported reports indicate indicates show shows showing shown appear "
    "appears seem seems according know records sorry"
)
# What happens by itself, or follows from what was done.
_HAPPENS = _words(
    "be have take need depend remain stay apply see receive appear reach arrive show expire get "
    "become go come happen process continue include find notice require contain cost last work"
)
# What one hears of when others do it: “the seller has been asked to …”.
_PASSED_ON = _words("ask tell attach write include enclose")
# What, once done, still is: “your seat is booked”; “refunds are processed” is a rule.
_STANDING = _words("book schedule reschedule cancel reserve arrange")
_MOVING = ("on its way", "on their way", "on the way", "en route", "out for delivery", "underway")
Voice = Literal["active", "passive", "arrangement"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One deed that a reply claims: its verb in base form and as written, and where it stands."""

    verb: str
    word: str
    voice: Voice
    span: Span
    words: tuple[str, ...]
    further: bool = False

    @property
    def bases(self) -> tuple[str, ...]:
        """Every base form that the verb may have: `inspected` is of `inspect` or `inspecte`."""
        return tuple(dict.fromkeys((self.verb, *bases(self.word))))

    @property
    def beside(self) -> str:
        """The word after the verb, if any."""
        at = self.words.index(self.word) + 1 if self.word in self.words else len(self.words)
        return self.words[at] if at < len(self.words) else ""


@dataclass(frozen=True, slots=True)
class _Clause:
    """The words of one clause, without what opens it."""

    words: tuple[str, ...]
    opener: str
    side: bool


def claims(text: str, *, arrangements: bool = False) -> list[Claim]:
    """Return what a reply claims was done, in order; with `arrangements` what others will do."""
    plain = _QUOTED.sub(lambda quoted: " " * len(quoted.group()), text)
    found: list[Claim] = []
    for match in _SENTENCE.finditer(plain):
        sentence = match.group()
        if sentence.strip() and not sentence.rstrip().endswith("?"):
            start = match.start() + len(sentence) - len(sentence.lstrip())
            span = (start, match.start() + len(sentence.rstrip()))
            found += _of_sentence(sentence, span, arrangements)
    return found


def _of_sentence(sentence: str, span: Span, arrangements: bool) -> Iterator[Claim]:
    clauses = _clauses(sentence)
    every = [word for clause in clauses for word in clause.words]
    further = not {"also", "additionally", "another", "too", "addition", "well"}.isdisjoint(every)
    supposed = any(clause.opener in ("if", "unless", "provided") for clause in clauses)
    heard = False
    before: Voice | None = None
    for clause in clauses:
        voice, verbs = _read(clause, before, heard, arrangements and not supposed)
        for verb, word in verbs:
            yield Claim(verb, word, voice or "active", span, clause.words, further)
        before = voice
        heard = heard or not _HEARD.isdisjoint(clause.words)


def _read(
    clause: _Clause, before: Voice | None, heard: bool, arrangements: bool
) -> tuple[Voice | None, list[tuple[str, str]]]:
    """Return the voice of a clause that tells of deeds, and its verbs as (base, written)."""
    if clause.side:
        return None, []
    words = clause.words
    readers: list[tuple[Voice, Callable[[Sequence[str]], tuple[str, str] | None]]] = [
        ("active", _active),
        ("passive", _passive),
    ]
    if arrangements:
        readers.append(("arrangement", _arranged))
    for voice, reader in readers:
        found = reader(words)
        if found is not None:
            return voice, [] if _told(found[0], voice, heard) else [found]
    if before is not None and clause.opener in (",", "and", "then", ""):
        return _joined(words, before)
    return None, []


def _told(verb: str, voice: Voice, heard: bool) -> bool:
    """Whether a clause only tells: of a thought, of the past of an order, of what was heard."""
    if voice == "passive" and (heard or verb in NARRATED):
        return True
    return verb in NO_DEED and not (voice == "passive" and verb in _PASSED_ON)


def _joined(words: Sequence[str], before: Voice) -> tuple[Voice | None, list[tuple[str, str]]]:
    """Return what a clause without a subject adds: “… and sent you a label”."""
    at = _skip(words, 0, {"have", "has", "been", "be"})
    if before == "arrangement" or at >= len(words):
        return None, []
    found = _past(words[at])
    if found is None:
        return None, []
    return before, [] if found[0] in NO_DEED else [found]


def _active(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the deed of a first person, or of somebody who acts for it."""
    at = next((n for n, word in enumerate(words) if word in _I), None)
    if at is None:
        return _fragment(words) or _by_agent(words)
    at = _skip(words, at + 1, {"have"})
    if at >= len(words) or words[at] in _NOT | _MODAL:
        return None
    if words[at] in ("was", "were", "been", "managed") and "to" in words[at : at + 3]:
        if not _NOT.isdisjoint(words[at : at + 3]):
            return None
        to = words.index("to", at) + 1
        return (words[to], words[to]) if to < len(words) else None
    return _past(words[at]) if words[at] not in ("been", "was", "were") else None


def _fragment(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the deed of a sentence without a subject: “Cancelled your subscription”."""
    found = _past(words[0]) if words else None
    return found if found and len(words) > 1 and found[0] in KNOWN - NO_DEED else None


def _by_agent(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the deed in “our team has shipped …”, “my manager approved …”."""
    acting = False
    for at, word in enumerate(words):
        if word in _AGENTS:
            acting = True
            verb = _skip(words, at + 1, set())
            if verb < len(words) and (found := _past(words[verb])):
                return None if found[0] in NARRATED | {"be", "have"} else found
        if word in ("has", "have") and acting:
            verb = _skip(words, at + 1, set())
            if verb < len(words) and words[verb] not in _NOT and words[verb] != "been":
                return _past(words[verb])
            return None
    return None


def _passive(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the deed in “has been credited”, “was sent”, “is now cancelled”, “is on its way”."""
    for at, word in enumerate(words):
        if word in _NOT:
            return None
        if word not in ("has", "have", "was", "were", "is", "are", "got") or at == 0:
            continue
        if word in ("was", "were") and words[0] == "you":
            return None
        rest = " ".join(words[at + 1 : at + 6])
        if word in ("is", "are") and rest.removeprefix("already ").startswith(_MOVING):
            return "ship", word
        verb = _skip(words, at + 1, {"been", "being"})
        between = words[at + 1 : verb]
        if verb >= len(words) or words[verb] in _NOT:
            return None
        found = _past(words[verb])
        if found is None or (word in ("has", "have") and "been" not in between):
            continue
        timeless = {"now", "already", "being", "all"}.isdisjoint(between)
        if word in ("is", "are") and timeless and found[0] not in _STANDING:
            continue
        return found
    return None


def _arranged(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the deed in “a courier will collect …”, “your plan will be upgraded”."""
    if words[0] in _I:
        return _underway(words)
    if "will" not in words[1:] or not _NOT.isdisjoint(words[: words.index("will")]):
        return None
    at = words.index("will")
    verb = _skip(words, at + 1, {"be"})
    if verb >= len(words) or words[verb] in _NOT:
        return None
    if "be" in words[at + 1 : verb]:
        found = _past(words[verb]) if words[0] == "you" or words[0] not in _PRONOUNS else None
        return found if found and found[0] not in _HAPPENS else None
    silent = words[0] in _PRONOUNS or words[verb] in _HAPPENS
    return None if silent else (words[verb], words[verb])


def _underway(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the deed in “we are sending you …”."""
    at = _skip(words, 1, {"am", "are"})
    if at >= len(words) or not {"am", "are"} & set(words[1:at]) or not words[at].endswith("ing"):
        return None
    found = bases(f"{words[at].removesuffix('ing')}ed")
    told = not found or found[0] in LOOK | NO_DEED | _HAPPENS
    return None if told else (found[0], words[at])


def _skip(words: Sequence[str], at: int, more: set[str]) -> int:
    """Return the place of the next word that is neither an adverb nor one of those."""
    while at < len(words):
        only = words[at] == "not" and "only" in words[at + 1 : at + 2]
        if not (only or words[at] in _FILL or words[at] in more or words[at].endswith("ly")):
            break
        at += 1
    return at


def _past(word: str) -> tuple[str, str] | None:
    found = bases(word)
    return (found[0], word) if found else None


def _clauses(sentence: str) -> list[_Clause]:
    """Split a sentence where another clause begins, and mark the side clauses."""
    found: list[_Clause] = []
    words: list[str] = []
    opener, side = "", False
    parts = list(_parts(sentence))
    for at, part in enumerate(parts):
        after = parts[at + 1] if at + 1 < len(parts) else ""
        if part == "since" and words[-1:] in (["have"], ["has"]):
            continue
        if not part[0].isalpha() or part in _SIDE or part in _JOIN:
            if words:
                found.append(_Clause(tuple(words), opener, side))
                words = []
            elif part in _JOIN and opener in _SIDE:
                continue
            side = _is_side(part, after, side)
            opener = part
        else:
            words.append(part)
    return [*found, _Clause(tuple(words), opener, side)] if words else found


def _is_side(part: str, after: str, side: bool) -> bool:
    """Return whether the clause that a word or mark opens is a side clause."""
    if part in _SIDE:
        return True
    if part == "that":
        return side or after in ("is", "are", "was", "were", "has", "have", "will")
    return side if part in ("and", "or") else False


def _parts(sentence: str) -> Iterator[str]:
    """Yield words, short forms written out, and marks between them."""
    for match in _PART.finditer(sentence):
        word = match.group().casefold().replace("’", "'")
        for tail, spelled in _SHORT.items():
            if word.endswith(tail) and len(word) > len(tail):
                head = word[: -len(tail)]
                yield {"ca": "can", "wo": "will", "sha": "shall"}.get(head, head)
                yield from spelled
                break
        else:
            yield from ((word.split("'")[0], "is") if word.endswith("'s") else (word,))
