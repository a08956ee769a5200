"""Who and what the demo speaks of. Every name here is made up and meant to look it.

Addresses and domains end in `.example`, which nobody can own (RFC 2606).
"""

from __future__ import annotations

import datetime
import random
from dataclasses import dataclass

AGENCY = "Thistledown & Crumb Talent"
AGENT = "Juno"
FIRST_NAMES = (
    "Tamsin", "Orrin", "Ysolde", "Pell", "Wilmot", "Fenja", "Corbin", "Isaura", "Tobin", "Elowen",
    "Marn", "Quillon", "Sunniva", "Odo", "Perpetua", "Lazlo", "Brisa", "Anselm", "Ottoline",
)  # fmt: skip
LAST_NAMES = (
    "Quillwhistle", "Fablebrook", "Tinkerfen", "Marrowdust", "Umberlatch", "Snowpocket",
    "Thimblemoor", "Gorsewick", "Larkspindle", "Mossbutton", "Candlefrost", "Nettlegrove",
    "Rookfeather", "Puddlestone", "Wrenhollow", "Saltmarrow", "Dapplethorn", "Foxglimmer",
)  # fmt: skip
COMPANIES = (
    ("Gravelmoth Robotics", "gravelmoth.example"),
    ("Lanternfish Logistics", "lanternfish.example"),
    ("Umberwick Energy", "umberwick.example"),
    ("Nine Teapots Software", "nineteapots.example"),
    ("Pollen & Piston", "pollenpiston.example"),
    ("Drowsy Otter Games", "drowsyotter.example"),
)
TOWNS = ("Port Amberly", "Kestrelford", "Lower Whimsey", "Brindle Bay", "Oakenmere")
TITLES = (
    ("Warehouse Robotics Engineer", "robot fleets in narrow aisles"),
    ("Backend Developer", "billing services in Python"),
    ("Grid Data Analyst", "load forecasts for small networks"),
    ("Embedded Tester", "test rigs for motor controllers"),
    ("Route Planning Engineer", "delivery routes for cold goods"),
    ("Build Tools Developer", "asset pipelines for game studios"),
)
MONDAYS = (datetime.date(2026, 3, 9), datetime.date(2026, 3, 16), datetime.date(2026, 3, 23))


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody made up: name, address, and the id that the agent's tools know."""

    id: str
    first: str
    last: str
    address: str

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"


@dataclass(frozen=True, slots=True)
class Role:
    """A made-up opening; money is in euros a year."""

    id: str
    title: str
    work: str
    company: str
    domain: str
    town: str
    band_low: int
    band_high: int
    remote_days: int
    start: str
    team: int

    @property
    def band(self) -> str:
        return f"EUR {self.band_low} to {self.band_high}"


@dataclass(frozen=True, slots=True)
class Cast:
    """The people and the role of one pair of twins, and the week in which it plays."""

    talent: Person
    recruiter: Person
    interviewer: Person
    role: Role
    monday: datetime.date

    def day(self, offset: int) -> datetime.date:
        """Return the day that lies so many days after the Monday."""
        return self.monday + datetime.timedelta(days=offset)


def draw_cast(rng: random.Random, talent: tuple[str, str]) -> Cast:
    """Draw a role, a week and the people around a talent, given by first and last name."""
    firsts = [talent[0], *rng.sample([name for name in FIRST_NAMES if name != talent[0]], 2)]
    lasts = [talent[1], *rng.sample([name for name in LAST_NAMES if name != talent[1]], 2)]
    company, domain = rng.choice(COMPANIES)
    title, work = rng.choice(TITLES)
    low = rng.randrange(52, 69) * 1000
    role = Role(
        id=f"OP-{rng.randrange(200, 999)}",
        title=title,
        work=work,
        company=company,
        domain=domain,
        town=rng.choice(TOWNS),
        band_low=low,
        band_high=low + rng.randrange(11, 17) * 1000,
        remote_days=rng.randrange(1, 4),
        start=f"2026-{rng.choice(('05', '06', '07'))}-01",
        team=rng.randrange(4, 13),
    )
    return Cast(
        talent=_person(f"T-{rng.randrange(1000, 9999)}", firsts[0], lasts[0], "mail.example"),
        recruiter=_person("R-01", firsts[1], lasts[1], "thistledown-crumb.example"),
        interviewer=_person(f"I-{rng.randrange(10, 99)}", firsts[2], lasts[2], domain),
        role=role,
        monday=rng.choice(MONDAYS),
    )


def draw_talents(rng: random.Random, count: int) -> list[tuple[str, str]]:
    """Draw so many first and last names that no two talents share both."""
    firsts, lasts = list(FIRST_NAMES), list(LAST_NAMES)
    rng.shuffle(firsts)
    rng.shuffle(lasts)
    return [(firsts[n % len(firsts)], lasts[n % len(lasts)]) for n in range(count)]


def _person(id: str, first: str, last: str, domain: str) -> Person:
    return Person(id, first, last, f"{first}.{last}@{domain}".lower())
