"""Judging: packet to request, reply to verdicts. Generators all the way; nothing here awaits."""

from helix.judging.determiner import DeterminerSettings, Determining, determine
from helix.judging.determining import DETERMINER_RUBRIC, determination_schema
from helix.judging.job import Job, Settings, VerifierSettings
from helix.judging.line import Adjudicated, Line, adjudicate, incomplete
from helix.judging.packet import PacketSettings, build
from helix.judging.reply import Answer, Unusable, read
from helix.judging.review import fault_of, is_usable, read_reviews
from helix.judging.rubric import RUBRIC, reply_schema

__all__ = [
    "DETERMINER_RUBRIC",
    "RUBRIC",
    "Adjudicated",
    "Answer",
    "DeterminerSettings",
    "Determining",
    "Job",
    "Line",
    "PacketSettings",
    "Settings",
    "Unusable",
    "VerifierSettings",
    "adjudicate",
    "build",
    "determination_schema",
    "determine",
    "fault_of",
    "incomplete",
    "is_usable",
    "read",
    "read_reviews",
    "reply_schema",
]
