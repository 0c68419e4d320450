"""The text form of a scope: one grant per line, with comma-separated matchers: ``team="payments",
environment=~"prod.*"``. A cluster is visible if all matchers of any line accept its labels, where
``cluster`` is its name.
"""

import re
from typing import Any

from django.utils.translation import gettext

from webapp.lib.cluster_labels import label_names
from webapp.lib.matchers import BadMatcher, from_json, parse_lines
from webapp.lib.scopes import Grant, Grants

MOST_GRANTS = 50
LONGEST_TEXT = 12_000
_PART = re.compile(r'(?:"[^"]*+"|[^",])++')


def entered(text: str) -> list[list[dict[str, str]]]:
    """The grants as JSON. Raises :class:`BadMatcher`, also for a matcher that hides no cluster
    since no cluster has its label.
    """
    grants = parse(text)
    labels = {"cluster", *label_names()}
    for matcher in sum(grants, ()):
        if matcher.label not in labels and matcher.accepts(""):
            raise BadMatcher(
                gettext("No cluster has the label %(label)s, so %(matcher)s hides none.")
                % {"label": matcher.label, "matcher": matcher}
            )
    return as_json(grants)


def parse(text: str) -> Grants:
    """Raises :class:`BadMatcher`. An empty text sees no cluster."""
    if len(text) > LONGEST_TEXT:
        raise BadMatcher(
            gettext("A scope is at most %(longest)s characters long.")
            % {"longest": f"{LONGEST_TEXT:,}"}
        )
    grant_lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(grant_lines) > MOST_GRANTS:
        raise BadMatcher(
            gettext("A scope has at most %(most)s lines; these are %(number)s.")
            % {"most": MOST_GRANTS, "number": len(grant_lines)}
        )
    return tuple(parse_line(line) for line in grant_lines)


def parse_line(line: str) -> Grant:
    grant = parse_lines("\n".join(_PART.findall(line)))
    if not grant:
        raise BadMatcher(
            gettext('%(line)s restricts nothing: write label="value", such as team="payments".')
            % {"line": f"{line[:80]!r}"}
        )
    return grant


def lines(stored: Any) -> list[str]:
    """One line per grant, as people write them."""
    return [", ".join(map(str, grant)) for grant in grants_from_json(stored)]


def as_json(grants: Grants) -> list[list[dict[str, str]]]:
    return [[matcher.as_json() for matcher in grant] for grant in grants]


def grants_from_json(stored: Any) -> Grants:
    """No grants if ``stored`` cannot be read."""
    try:
        return tuple(grant for grant in map(from_json, stored) if grant)
    except (BadMatcher, TypeError):
        return ()
