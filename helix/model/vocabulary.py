"""What a field means wherever it stands, by its name in Python: one word per thing.

A docstring below a field says what it means there instead; `helix.app.meanings` reads both.
"""

from __future__ import annotations

from typing import Final

VOCABULARY: Final = {
    "schema_version": "The version of the shape: a reader knows every minor version of its major.",
    # What is asked of what.
    "criterion_id": "The id of the row in its suite.",
    "statement": "What is asked: one sentence that is true or false of a trace.",
    "pass_condition": "When it passes, where the statement leaves that open.",
    "fail_condition": "When it fails, where the statement leaves that open.",
    "judge_inputs": "Field paths of the part of the trace that the row needs; none is all of it.",
    "terms": "Words of the statement that have to be bound to something in the trace.",
    "trace_id": "The id of the trace.",
    "trace_digest": "SHA-256 of the bytes that the trace was read from.",
    "route": "What kind of request it is, of those that the subject declares; null is not known.",
    "task": "The task that the trace is one run of; null where the trace names none.",
    "replicate": "Which repeat of the same question it is, from 0.",
    "attempt": "How often it was asked before because no answer could be used, from 0.",
    # What was said.
    "critique": "Why, in words; written before the result.",
    "blocked_by": "What an undecided verdict waits for; null where nothing blocks it.",
    "cause": "Why it is not decided, set by code: see states and causes; null where it is.",
    "produced_by": "Who decided it: code, a judge, or code first and then a judge.",
    "code": "What the code half of a hybrid row said; null in other rows.",
    "verification": "What the verifier said; null where none was asked for.",
    # Who said it, under what.
    "judge_model": "The model that was asked; null where code decided all.",
    "judge_identity": "Who judged, by name; null where nobody was asked.",
    "identity": "Who answers, by name: a model, a person or an agent.",
    "temperature": "What was asked for: 0; null where nobody was asked, or the model refuses 0.",
    "returned_model": "The model that the reply names; null where it names none.",
    "effective": "The parameters that took effect; null where they are not recorded.",
    "nonce": "A word of this prompt alone, which an answer has to repeat.",
    "made_by": "Who gave the answer, by name; null where the pin's identity did.",
}
