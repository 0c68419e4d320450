"""Label matchers, as Alertmanager spells them: ``cluster="prod-eu"``, ``severity!=info``, ``job=~"orders-.*"``.

All matchers of a list have to match. A label that is missing counts as empty. Regular expressions are anchored at both
ends and run by RE2 (which Arrow carries): its time is linear, so that nobody's pattern can hold up an alert.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext

from webapp.lib.refusals import InputRefused

EQUAL, NOT_EQUAL, MATCHES, MATCHES_NOT = "=", "!=", "=~", "!~"
OPERATORS = (EQUAL, NOT_EQUAL, MATCHES, MATCHES_NOT)
MOST_MATCHERS = 10
LONGEST_VALUE = 1_000
LONGEST_PATTERN = 200
LONGEST_TEXT = 12_000
"""As lines: ten of the longest, and some air."""

_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
# Possessive: what a repetition took it never gives back, so a line is read once, whatever is in it.
_WRITTEN = re.compile(r"([A-Za-z0-9_.]++)\s*+(=~|!~|!=|=)")


class BadMatcher(InputRefused):
    """A matcher that cannot be used; the message says which and why."""

    def __init__(self, text: str) -> None:
        super().__init__({"matchers": text})


@dataclass(frozen=True)
class Matcher:
    """One condition on one label; made by :func:`matcher`, which checks it."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f'{self.label}{self.operator}"{self.value}"'

    def as_json(self) -> dict[str, str]:
        return {"label": self.label, "operator": self.operator, "value": self.value}

    def accepts(self, text: str) -> bool:
        if self.operator in (EQUAL, NOT_EQUAL):
            return (text == self.value) is (self.operator == EQUAL)
        return _fits(self.value, text) is (self.operator == MATCHES)


def matcher(label: str, operator: str, value: str) -> Matcher:
    """Raises :class:`BadMatcher`."""
    if not _LABEL.fullmatch(label):
        raise BadMatcher(
            gettext("%(label)s is no label: use letters, digits, dots and underscores, 64 at most.") % {"label": f"{label[:64]!r}"}
        )
    if operator not in OPERATORS:
        raise BadMatcher(gettext("%(operator)s is no operator: use =, !=, =~ or !~.") % {"operator": f"{operator[:10]!r}"})
    if "\x00" in value or len(value) > LONGEST_VALUE:
        raise BadMatcher(
            gettext("The value for %(label)s is longer than %(longest)s characters, or holds a zero byte.")
            % {"label": label, "longest": LONGEST_VALUE}
        )
    if operator in (MATCHES, MATCHES_NOT):
        if len(value) > LONGEST_PATTERN:
            raise BadMatcher(
                gettext("The pattern for %(label)s is longer than %(longest)s characters.") % {"label": label, "longest": LONGEST_PATTERN}
            )
        try:
            _fits(value, "")
        except ValueError:  # Arrow's, and what is no UTF-8
            raise BadMatcher(
                gettext("%(value)s for %(label)s is no regular expression that RE2 understands.")
                % {"value": f"{value[:80]!r}", "label": label}
            ) from None
    return Matcher(label, operator, value)


def parse_lines(text: str) -> tuple[Matcher, ...]:
    """One matcher a line, as people type them; empty lines are passed over. Raises :class:`BadMatcher`."""
    if len(text) > LONGEST_TEXT:
        raise BadMatcher(
            gettext("Matchers are longer than %(longest)s characters together; shorten them.") % {"longest": f"{LONGEST_TEXT:,}"}
        )
    lines = [line.strip() for line in text.splitlines()]
    found = []
    for line in _bounded([line for line in lines if line]):
        written = _WRITTEN.match(line)
        if written is None:
            raise BadMatcher(gettext('%(line)s is no matcher: write label=value, such as cluster="prod-eu".') % {"line": f"{line[:80]!r}"})
        label, operator = written.groups()
        value = line[written.end() :].lstrip()
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        found.append(matcher(label, operator, value))
    return tuple(found)


def from_json(items: object) -> tuple[Matcher, ...]:
    """A list of ``{"label", "operator", "value"}``. Raises :class:`BadMatcher`."""
    if not isinstance(items, list):
        raise BadMatcher(gettext("Matchers are a list."))
    found = []
    for item in _bounded(items):
        if not isinstance(item, dict) or not all(isinstance(item.get(key), str) for key in ("label", "operator", "value")):
            raise BadMatcher(gettext("A matcher is an object with the texts label, operator and value."))
        found.append(matcher(item["label"], item["operator"], item["value"]))
    return tuple(found)


def as_lines(matchers: Iterable[Matcher]) -> str:
    return "\n".join(str(one) for one in matchers)


def match_all(matchers: Sequence[Matcher], labels: Mapping[str, str]) -> bool:
    """True where every one matches; no matcher matches everything."""
    return all(one.accepts(labels.get(one.label, "")) for one in matchers)


def _bounded(written: list[Any]) -> list[Any]:
    """Before they are read: each pattern costs a little."""
    if len(written) > MOST_MATCHERS:
        raise BadMatcher(
            gettext("Give at most %(most)s matchers; these are %(number)s.") % {"most": MOST_MATCHERS, "number": f"{len(written):,}"}
        )
    return written


@lru_cache(maxsize=4096)
def _fits(pattern: str, text: str) -> bool:
    """Cached, since the same few labels are asked for again and again."""
    # Most processes match no pattern, and Arrow takes a fifth of the start of a command.
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.match_substring_regex(pa.array([text], pa.string()), rf"\A(?:{pattern})\z")
    return bool(found[0].as_py())
