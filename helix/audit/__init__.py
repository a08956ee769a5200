"""Audits: what an attacker's words change. `injection` plants them and compares."""

from helix.audit.findings import Findings, Move
from helix.audit.injection import attack
from helix.audit.payloads import BUILT_IN, PLACES, Payload, load_payloads
from helix.audit.places import Plant, plants

__all__ = [
    "BUILT_IN",
    "PLACES",
    "Findings",
    "Move",
    "Payload",
    "Plant",
    "attack",
    "load_payloads",
    "plants",
]
