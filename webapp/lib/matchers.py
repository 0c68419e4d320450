"""Label matchers in Alertmanager's syntax: ``cluster="prod-eu"``, ``severity!=info``,
``job=~"orders-.*"``. All matchers of a list must match. A missing label counts as empty. Regular
expressions are anchored at both ends and run by RE2 (in Arrow) in linear time, so that no pattern
can delay an alert. Arrow compiles a pattern for each array again, so its size is limited, and texts
of many rows are matched as one array (:func:`match_each`).
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext

from webapp.lib.pattern_size import MOST_UNITS, units_of
from webapp.lib.refusals import InputRefused

EQUAL, NOT_EQUAL, MATCHES, MATCHES_NOT = "=", "!=", "=~", "!~"
OPERATORS = (EQUAL, NOT_EQUAL, MATCHES, MATCHES_NOT)
MOST_MATCHERS = 10
LONGEST_VALUE = 1_000
LONGEST_PATTERN = 200
LONGEST_TEXT = 12_000
"""Characters of all lines: a little more than ten lines of the longest."""
MOST_CACHED, LONGEST_CACHED = 200, 200
"""Texts and their characters for which the result of a pattern is cached."""

_LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,63}")
# Possessive repetitions do not backtrack: each line is read only once.
_LABEL_AND_OPERATOR = re.compile(r"([A-Za-z0-9_.]++)\s*+(=~|!~|!=|=)")


class BadMatcher(InputRefused):
    """The message says which matcher and why."""

    def __init__(self, text: str) -> None:
        super().__init__({"matchers": text})


@dataclass(frozen=True)
class Matcher:
    """A condition on one label. :func:`matcher` checks and creates it."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        return f'{self.label}{self.operator}"{self.value}"'

    def as_json(self) -> dict[str, str]:
        return {"label": self.label, "operator": self.operator, "value": self.value}

    def accepts(self, text: str) -> bool:
        return bool(self.accepted([text]))

    def accepted(self, texts: Collection[str]) -> set[str]:
        if self.operator in (EQUAL, NOT_EQUAL):
            return {text for text in texts if (text == self.value) is (self.operator == EQUAL)}
        return {
            text
            for text, matches in _matches(self.value, texts).items()
            if matches is (self.operator == MATCHES)
        }


def matcher(label: str, operator: str, value: str) -> Matcher:
    if not _LABEL.fullmatch(label):
        raise BadMatcher(
            gettext(
                "%(label)s is not a label: use letters, digits, dots and underscores, 64 at most."
            )
            % {"label": f"{label[:64]!r}"}
        )
    if operator not in OPERATORS:
        raise BadMatcher(
            gettext("%(operator)s is not an operator: use =, !=, =~ or !~.")
            % {"operator": f"{operator[:10]!r}"}
        )
    if "\x00" in value or len(value) > LONGEST_VALUE:
        raise BadMatcher(
            gettext(
                "The value for %(label)s is longer than %(longest)s characters, or holds a zero "
                "byte."
            )
            % {"label": label, "longest": LONGEST_VALUE}
        )
    if operator in (MATCHES, MATCHES_NOT):
        if len(value) > LONGEST_PATTERN:
            raise BadMatcher(
                gettext("The pattern for %(label)s is longer than %(longest)s characters.")
                % {"label": label, "longest": LONGEST_PATTERN}
            )
        if units_of(value) > MOST_UNITS:
            raise BadMatcher(
                gettext(
                    "The pattern for %(label)s is too large: write * in place of counts such as "
                    "{90}, and fewer classes such as \\pL."
                )
                % {"label": label}
            )
        try:
            _check(value)
        except ValueError:  # Arrow's errors, and invalid UTF-8
            raise BadMatcher(
                gettext("%(value)s for %(label)s is not a regular expression that RE2 understands.")
                % {"value": f"{value[:80]!r}", "label": label}
            ) from None
    return Matcher(label, operator, value)


def parse_lines(text: str) -> tuple[Matcher, ...]:
    """One matcher per line; empty lines are skipped. Raises :class:`BadMatcher`."""
    if len(text) > LONGEST_TEXT:
        raise BadMatcher(
            gettext("Matchers are longer than %(longest)s characters together; shorten them.")
            % {"longest": f"{LONGEST_TEXT:,}"}
        )
    lines = [line.strip() for line in text.splitlines()]
    matchers = []
    for line in _limited([line for line in lines if line]):
        match = _LABEL_AND_OPERATOR.match(line)
        if match is None:
            raise BadMatcher(
                gettext('%(line)s is not a matcher: write label=value, such as cluster="prod-eu".')
                % {"line": f"{line[:80]!r}"}
            )
        label, operator = match.groups()
        value = line[match.end() :].lstrip()
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = value[1:-1]
        matchers.append(matcher(label, operator, value))
    return tuple(matchers)


def from_json(items: object) -> tuple[Matcher, ...]:
    """``items``: a list of ``{"label", "operator", "value"}``. Raises :class:`BadMatcher`."""
    if not isinstance(items, list):
        raise BadMatcher(gettext("Matchers are a list."))
    matchers = []
    for item in _limited(items):
        if not isinstance(item, dict) or not all(
            isinstance(item.get(key), str) for key in ("label", "operator", "value")
        ):
            raise BadMatcher(
                gettext("A matcher is an object with the texts label, operator and value.")
            )
        matchers.append(matcher(item["label"], item["operator"], item["value"]))
    return tuple(matchers)


def as_entered(items: Iterable[Mapping[str, str]]) -> tuple[Matcher, ...]:
    """Matchers that are not checked, only to be shown."""
    return tuple(Matcher(entry["label"], entry["operator"], entry["value"]) for entry in items)


def named_cluster(matchers: Iterable[Matcher]) -> str:
    """The only cluster whose rows can match; "" if there may be several."""
    values = (
        condition.value
        for condition in matchers
        if (condition.label, condition.operator) == ("cluster", EQUAL)
    )
    return next(values, "")[:100]


def as_lines(matchers: Iterable[Matcher]) -> str:
    return "\n".join(str(condition) for condition in matchers)


def match_all(matchers: Sequence[Matcher], labels: Mapping[str, str]) -> bool:
    """An empty list matches everything."""
    return match_each(matchers, [labels])[0]


def match_each(matchers: Sequence[Matcher], rows: Sequence[Mapping[str, str]]) -> list[bool]:
    """For each row's labels, whether all matchers match; each pattern is compiled once."""
    matching: Collection[int] = range(len(rows))
    for matcher in matchers:
        accepted = matcher.accepted({rows[index].get(matcher.label, "") for index in matching})
        matching = [index for index in matching if rows[index].get(matcher.label, "") in accepted]
    matching = set(matching)
    return [index in matching for index in range(len(rows))]


def _limited(items: list[Any]) -> list[Any]:
    """Refuses too many matchers before they are read, since each pattern has a cost."""
    if len(items) > MOST_MATCHERS:
        raise BadMatcher(
            gettext("Give at most %(most)s matchers; these are %(number)s.")
            % {"most": MOST_MATCHERS, "number": f"{len(items):,}"}
        )
    return items


def _matches(pattern: str, texts: Collection[str]) -> dict[str, bool]:
    cache = _results_cache(pattern)
    results = {text: hit for text in texts if (hit := cache.get(text)) is not None}
    new_texts = [text for text in texts if text not in results]
    if new_texts:
        computed = dict(zip(new_texts, _match(rf"\A(?:{pattern})\z", new_texts), strict=True))
        short = {text: result for text, result in computed.items() if len(text) <= LONGEST_CACHED}
        if len(cache) + len(short) > MOST_CACHED:
            cache.clear()
        if len(short) <= MOST_CACHED:
            cache.update(short)
        results |= computed
    return results


@lru_cache(maxsize=512)
def _check(pattern: str) -> None:
    """Raises ``ValueError``. Also tries the pattern without anchors: ``a)|(?:b`` is only valid
    between them.
    """
    _match(pattern, [""])
    _matches(pattern, [""])


@lru_cache(maxsize=512)
def _results_cache(pattern: str) -> dict[str, bool]:
    return {}


def _match(pattern: str, texts: list[str]) -> list[bool]:
    # Most processes match no pattern; Arrow takes a fifth of a command's start.
    import pyarrow as pa
    import pyarrow.compute as pc

    matches: list[bool] = pc.match_substring_regex(
        pa.array(texts, pa.string()), pattern
    ).to_pylist()
    return matches
