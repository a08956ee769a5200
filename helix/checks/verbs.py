"""English verbs as replies use them: their base forms, and the tools that their deeds need.

Plain data. A suite says more with the `verbs` of claimed-action.
"""

from __future__ import annotations

import re
from functools import lru_cache


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Past forms that do not end in -ed; the base form stands before the colon.
_IRREGULAR_TEXT = """
    send: sent, make: made, do: did done, put: put, pay: paid, give: gave given, take: took taken,
    set: set, get: got gotten, write: wrote written, speak: spoke spoken, leave: left, keep: kept,
    buy: bought, find: found, build: built, bring: brought, cut: cut, reset: reset, hold: held,
    tell: told, go: went gone, sell: sold, shut: shut, lend: lent, withdraw: withdrew withdrawn,
    redo: redone, undo: undid undone, override: overrode overridden, choose: chose chosen,
    begin: began begun, meet: met, run: ran, spend: spent, split: split, show: showed shown,
    know: knew known, see: saw seen, think: thought, understand: understood, hear: heard,
    say: said, feel: felt, have: had, be: been was were, lose: lost, mean: meant,
    become: became, come: came come, freeze: froze frozen, draw: drew drawn, lead: led, read: read,
    ring: rang rung, forgo: forwent forgone, let: let, break: broke broken
"""
_IRREGULAR = {
    past: base.strip()
    for base, _, pasts in (entry.partition(":") for entry in _IRREGULAR_TEXT.split(","))
    for past in pasts.split()
}
_NO_VERB = _words("need indeed hundred exceed proceed succeed speed feed seed bed red shed embed")

# What a first person says of itself without having acted on anything.
NO_DEED = _words(
    "find see read notice understand hear think feel hope want wish like love appreciate apologise "
    "apologize mean say tell mention ask explain be have receive get learn realise realize "
    "recognise recognize consider decide determine conclude try attempt include summarise "
    "summarize provide answer outline describe share detail enclose work enjoy need use follow "
    "go know lose become come limit relate mix expect intend plan assume believe agree "
    "fail miss manage happen seem appear remain list quote base locate please require allow "
    "suppose interest concern excite delight entitle exclude cover permit involve design "
    "thank regret let write attach"
)
# What is told of an order or a parcel rather than done by the one who replies.
NARRATED = _words(
    "deliver purchase place buy order charge damage bill lose break design manufacture reject "
    "decline deny miss mark"
)
# A reading, which any successful call may have been.
LOOK = _words(
    "check verify review look search identify confirm validate retrieve fetch "
    "pull compare analyse analyze assess evaluate investigate calculate compute load open"
)
# What takes its meaning from its object: “issued a refund” is a deed of issue_refund.
LIGHT = _words(
    "make do issue process complete submit place put apply give grant arrange create add set take "
    "run start initiate finalise finalize handle request trigger perform carry enter file register "
    "record raise generate prepare authorise authorize approve release open"
)
# Verbs that one tool may serve, and the words by which such a tool is named.
_GROUPS = (
    ("refund reimburse repay", "refund reimburse repay payout"),
    ("credit compensate", "credit compensate"),
    ("cancel terminate void revoke abort unsubscribe stop end",
     "cancel terminate void revoke abort unsubscribe stop end"),
    ("send email mail message notify inform text alert contact",
     "send email mail message notify notification sms text alert contact"),
    ("reply respond answer", "reply respond answer send message"),
    ("call phone ring speak talk", "call phone dial"),
    ("escalate pass forward transfer hand refer route assign delegate",
     "escalate escalation forward transfer handover handoff hand refer route assign delegate"),
    ("book reserve schedule appoint", "book booking reserve reservation schedule appointment"),
    ("reschedule rebook move postpone", "reschedule rebook move postpone change update modify"),
    ("change update modify edit adjust correct amend alter switch set reset",
     "change update modify edit adjust correct amend alter switch set reset patch"),
    ("upgrade downgrade", "upgrade downgrade change update modify"),
    ("replace exchange swap", "replace replacement exchange swap"),
    ("order reorder purchase buy", "order reorder purchase buy"),
    ("ship dispatch deliver post", "ship shipment shipping dispatch deliver delivery post"),
    ("create add file log register record note save enter",
     "create add file log register record note save insert new"),
    ("delete remove erase clear drop", "delete remove erase clear drop"),
    ("pay charge bill invoice", "pay payment charge bill invoice"),
    ("approve accept authorise authorize", "approve accept authorise authorize"),
    ("block lock freeze suspend disable deactivate close",
     "block lock freeze suspend disable deactivate close"),
    ("unlock unblock enable activate reactivate restore reinstate reopen",
     "unlock unblock enable activate reactivate restore reinstate reopen"),
    ("extend prolong renew", "extend prolong renew"),
    ("return", "return"),
)  # fmt: skip
_SERVING = {verb: _words(names) for verbs, names in _GROUPS for verb in verbs.split()}
# A tool whose name starts so only reads; it backs no deed unless the suite says so.
READING = _words(
    "get list lookup look find search read fetch check query view show retrieve describe count "
    "verify validate load think calculate"
)


@lru_cache(maxsize=4096)
def bases(word: str) -> tuple[str, ...]:
    """Return the base forms that a past form may have, the likeliest first; none for other words.

    `cancelled` may be of `cancel` or `cancell`, `updated` of `update` or `updat`.
    """
    if word in _IRREGULAR:
        return (_IRREGULAR[word],)
    if not word.endswith("ed") or len(word) < 4 or word in _NO_VERB:
        return ()
    found = [word[:-1], word[:-2]]
    if word.endswith("ied"):
        found.insert(0, word[:-3] + "y")
    if len(word) > 4 and word[-3] == word[-4]:
        found.insert(len(found) if word[-3] in "sfz" else 0, word[:-3])
    return tuple(sorted(found, key=lambda base: base not in KNOWN))


@lru_cache(maxsize=4096)
def serving(verb: str) -> frozenset[str]:
    """Return the words by which tools are named that do what a verb says."""
    return _SERVING.get(verb, frozenset()) | {verb}


@lru_cache(maxsize=4096)
def name_words(tool: str) -> tuple[str, ...]:
    """Return the words of a tool's name: `issueRefund` and `issue_refund` have two."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", tool)
    return tuple(part.casefold() for part in parts)


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Return a noun without its plural, as far as names of tools need it."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


KNOWN = NO_DEED | NARRATED | LOOK | LIGHT | _SERVING.keys()
