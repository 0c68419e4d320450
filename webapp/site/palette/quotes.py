"""Finds open findings that quote the pasted text: the message of an exception or log line, or else
the class of an exception.
"""

import re
from collections.abc import Iterator
from functools import reduce
from operator import or_

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext

from webapp.findings.choices import FindingState
from webapp.findings.models import WORST_FIRST, Finding
from webapp.lib.filters import words
from webapp.lib.messages.rendering import localised
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit

SHORTEST = 20
"""Shorter texts are taken for names."""
EXCEPTION = re.compile(r"(?<![\w$.])(?:[a-z][\w$]*+\.)++[A-Z][\w$]*(?:Exception|Error)\b")
MOST_PARTS, LONGEST_PART, SHORTEST_PART = 6, 80, 12
QUOTING = ("cause", "title", "evidence", "data")
_MESSAGES = re.compile(r"(?:(?:Exception|Error): | - )(?P<message>[^\n\"\\]++)")
"""The message after the class of an exception or the header of a line, up to a character that JSON
escapes.
"""


def quoting(text: str) -> Iterator[Group]:
    """At most two queries."""
    if len(text) < SHORTEST:
        return
    messages = [match["message"].strip()[:LONGEST_PART] for match in _MESSAGES.finditer(text)]
    for parts in (messages[::-1], EXCEPTION.findall(text)[::-1]):
        long_enough = [part for part in parts if len(part) >= SHORTEST_PART]
        if hits := _findings(list(dict.fromkeys(long_enough))[:MOST_PARTS]):
            yield Group(gettext("Open findings that quote it"), hits)
            return


def _findings(parts: list[str]) -> list[Hit]:
    if not parts:
        return []
    quotes = reduce(
        or_, (Q(**{f"{column}__icontains": part}) for part in parts for column in QUOTING)
    )
    rows = Finding.objects.filter(quotes, state=FindingState.OPEN).order_by(*WORST_FIRST)
    return [
        Hit(
            localised(row.title),
            reverse("finding", args=[row.pk]),
            " · ".join(part for part in (words(row.severity), row.job_name, row.cluster) if part),
        )
        for row in rows.only("title", "severity", "job_name", "cluster")[:MOST_OF_GROUP]
    ]
