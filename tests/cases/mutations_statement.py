"""Changes to the statement inside the envelope, which the trusted key then signs."""

import json
from typing import Any

from tests.cases.attack import Argument
from tests.cases.signers import spelled
from tests.cases.site import Site
from tests.cases.spellings import SPELLINGS


def state(site: Site, member: str, value: Argument) -> None:
    """Give a member another value: ``predicate.run``, or one that the statement does not have."""
    statement = site.statement()
    holder, name = _holder(statement, member)
    holder[name] = value
    site.payload = spelled(statement)


def state_json(site: Site, member: str, text: str) -> None:
    """Give a member a value that stands in the case as JSON."""
    statement = site.statement()
    holder, name = _holder(statement, member)
    holder[name] = json.loads(text)
    site.payload = spelled(statement)


def leave_unstated(site: Site, member: str) -> None:
    """Leave a member out."""
    statement = site.statement()
    holder, name = _holder(statement, member)
    del holder[name]
    site.payload = spelled(statement)


def state_subject_twice(site: Site) -> None:
    """Name the manifest as two subjects."""
    statement = site.statement()
    statement["subject"] *= 2
    site.payload = spelled(statement)


def state_digest_in_upper_case(site: Site) -> None:
    """Spell the manifest's digest with capital letters."""
    statement = site.statement()
    digest = statement["subject"][0]["digest"]
    digest["sha256"] = digest["sha256"].upper()
    site.payload = spelled(statement)


def respell_statement(site: Site, way: str) -> None:
    """Spell the statement in a way that readers may take differently."""
    site.payload = SPELLINGS[way](spelled(site.statement()))


def spell_statement_widely(site: Site) -> None:
    """Spell the statement with white space: whatever was signed means one thing."""
    site.payload = json.dumps(site.statement(), indent=4).encode()


def _holder(statement: Any, member: str) -> tuple[Any, str | int]:
    """Return the object that has a member, and its name there; parts of lists by their number."""
    *parts, name = (int(part) if part.isdecimal() else part for part in member.split("."))
    for part in parts:
        statement = statement[part]
    return statement, name


def state_what_it_stated(site: Site) -> None:
    """State the same."""
    site.payload = spelled(site.statement())
