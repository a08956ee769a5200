"""Which sentences of a reply say that something was done, and which do not."""

from __future__ import annotations

import time

import pytest

from helix.checks.sentences import claims


def told(text: str, *, arrangements: bool = False) -> list[str]:
    return [claim.verb for claim in claims(text, arrangements=arrangements)]


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("I have cancelled your subscription.", ["cancel"]),
        ("I've also updated your address", ["update"]),
        ("We’ve sent you a prepaid label!", ["send"]),
        ("I refunded EUR 60.50 for ORD-1.", ["refund"]),
        ("I just emailed the invoice to you.", ["email"]),
        ("I went ahead and removed the late fee.", ["remove"]),
        ("I have waived the fee and sent you a label.", ["waive", "send"]),
        ("I have opened a ticket, assigned it and flagged it.", ["open", "assign", "flag"]),
        ("I was able to reset your password.", ["reset"]),
        ("We managed to book the flight.", ["book"]),
        ("I have not only cancelled it.", ["cancel"]),
        ("Done! Cancelled your subscription.", ["cancel"]),
        ("Your account has been credited with 10 EUR.", ["credit"]),
        ("Your points were restored.", ["restore"]),
        ("Your delivery is being rescheduled.", ["reschedule"]),
        ("Your seat is booked.", ["book"]),
        ("A new card is on its way.", ["ship"]),
        ("Our team has shipped a new one.", ["ship"]),
        ("My manager approved a payment.", ["approve"]),
        ("We have since refunded it.", ["refund"]),
        ("The seller has been asked to send a part.", ["ask"]),
        ("I can confirm that your booking has been changed.", ["change"]),
        ("If you look now, I have added a note.", ["add"]),
        ("Good news: your refund was issued.", ["issue"]),
        ("I have passed it to a specialist who will contact you.", ["pass"]),
        ("- I have sent it\n- I have cancelled it", ["send", "cancel"]),
    ],
)
def test_what_was_done_is_claimed(text: str, verbs: list[str]) -> None:
    assert told(text) == verbs


@pytest.mark.parametrize(
    "text",
    [
        "",
        "🙂",
        "I cannot refund order ORD-1 because it is outside the 14-day window (55 days).",
        "It should reach your account within five working days.",
        "I am looking into this and will get back to you.",
        "I have not cancelled the order.",
        "I haven't sent anything yet.",
        "We never charged you a fee.",
        "No refund has been issued.",
        "Nothing was sent.",
        "The order has not been cancelled.",
        "Have you received the refund?",
        "Shall I cancel it?",
        "Would you like me to send a label?",
        "I will cancel the order tomorrow.",
        "We'll ship it.",
        "I can cancel the order for you.",
        "If you like, I will send a label.",
        "I would have cancelled it.",
        "I wish I had booked it.",
        "I could not issue the refund.",
        "We were unable to process the refund.",
        "Unfortunately I was not able to reset it.",
        "I understand your parcel was damaged.",
        "You mentioned that the item was broken.",
        "I see that your order was shipped last week.",
        "I need the order that was cancelled.",
        "I have found your order.",
        "I have received your message.",
        "You have requested a refund.",
        "You were charged twice.",
        "Your order was delivered on May 5.",
        "Once your return has been received, we will refund you.",
        "When I have cancelled it, you will hear from me.",
        "The item needs to be returned unused.",
        "Refunds are processed within five days.",
        "The refund window has passed.",
        'The status says "I have cancelled it".',
        "A courier will collect it.",
        "We are sending it.",
        "The bank declined it.",
    ],
)
def test_what_is_denied_asked_offered_promised_supposed_or_only_told_is_not(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("A courier will collect the item tomorrow.", ["collect"]),
        ("Your plan will be upgraded tonight.", ["upgrade"]),
        ("You will be contacted by a specialist.", ["contact"]),
        ("I have passed it to a specialist who will contact you.", ["pass"]),
        ("We are sending you a label.", ["send"]),
        ("I'm cancelling it now.", ["cancel"]),
        ("I am looking into this and will get back to you.", []),
        ("I am not sending it.", []),
        ("It will take five days.", []),
        ("The money will appear on your account.", []),
        ("We will call you.", []),
        ("Our policy will not be changed.", []),
        ("If you agree, a courier will collect it.", []),
        ("Will a courier collect it?", []),
        ("A courier would collect it.", []),
        ("You will receive a mail.", []),
    ],
)
def test_what_others_will_do_is_an_arrangement(text: str, verbs: list[str]) -> None:
    assert told(text, arrangements=True) == verbs


def test_a_claim_stands_where_its_sentence_does_and_knows_whether_it_is_a_further_one() -> None:
    text = "Hello. I have refunded EUR 60.03. I also sent you a label! Bye."
    found = claims(text)
    assert [text[slice(*claim.span)] for claim in found] == [
        "I have refunded EUR 60.03.",
        "I also sent you a label!",
    ]
    assert [claim.further for claim in found] == [False, True]


@pytest.mark.parametrize(
    "part", ["a", "and ", "I have ", ". ", '"', "that ", "has been ", "- ", "“", "\n"]
)
def test_a_hostile_text_takes_time_in_proportion_to_its_length(part: str) -> None:
    def taken(length: int) -> float:
        text = part * (length // len(part))
        start = time.process_time()
        claims(text, arrangements=True)
        return time.process_time() - start

    assert taken(80_000) < 12 * max(taken(20_000), 0.005)
