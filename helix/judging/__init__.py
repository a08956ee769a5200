"""Judging: packet to request, reply to verdicts. Generators all the way; nothing here awaits."""

from helix.judging.line import Adjudicated, Job, Line, Settings, adjudicate, incomplete
from helix.judging.packet import PacketSettings, build
from helix.judging.reply import Answer, Unusable, read
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
    "adjudicate",
    "build",
    "incomplete",
    "read",
    "reply_schema",
]
