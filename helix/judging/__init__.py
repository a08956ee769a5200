"""Judging: packet to request, reply to verdicts. Generators all the way; nothing here awaits."""

from helix.judging.job import Job, Settings, VerifierSettings
from helix.judging.line import Adjudicated, Line, adjudicate, incomplete
from helix.judging.packet import PacketSettings, build
from helix.judging.reply import Answer, Unusable, read
from helix.judging.review import fault_of, is_usable, read_reviews
from helix.judging.rubric import RUBRIC, reply_schema

__all__ = [
    "RUBRIC",
    "Adjudicated",
    "Answer",
    "Job",
    "Line",
    "PacketSettings",
    "Settings",
    "Unusable",
    "VerifierSettings",
    "adjudicate",
    "build",
    "fault_of",
    "incomplete",
    "is_usable",
    "read",
    "read_reviews",
    "reply_schema",
]
