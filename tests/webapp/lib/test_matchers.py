"""Matchers as people and machines write them, however long."""

import pytest
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from webapp.lib.matchers import (
    LONGEST_TEXT,
    MOST_MATCHERS,
    BadMatcher,
    as_lines,
    from_json,
    matcher,
    parse_lines,
)

GAP = " " * 11_900
TEXTS = {
    "a gap": f"a=x{GAP}x",
    "a gap before the operator": f"a{GAP}x=b",
    "a long label": "a" * 11_900 + "=b",
    "many lines": "a=~(x{1,9}){1,50}\n" * 600,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_long_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(BadMatcher) as refused:
        parse_lines(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("text", [f"a=x{' ' * 5_000_000}x", "a=b\n" * 1_000_000, "\n" * 5_000_000])
def test_what_is_endless_is_not_even_read(text: str) -> None:
    with pytest.raises(BadMatcher, match="12,000"):
        parse_lines(text)


def test_more_than_are_kept_are_not_even_checked() -> None:
    one = {"label": "job", "operator": "=~", "value": "("}
    with pytest.raises(BadMatcher, match="at most 10"):
        from_json([one] * 100_000)
    with pytest.raises(BadMatcher, match="at most 10"):
        parse_lines("job=~(\n" * (MOST_MATCHERS + 1))


def test_the_longest_that_are_kept_can_be_written_and_read() -> None:
    longest = tuple(matcher(f"{'l' * 62}{number:02}", "!~", "v" * 200) for number in range(9))
    values = tuple(matcher("l" * 64, "!=", f"{'v' * 990}") for _ in range(10))
    assert parse_lines(as_lines(longest)) == longest and parse_lines(as_lines(values)) == values
    assert len(as_lines(values)) < LONGEST_TEXT


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('  cluster = "prod-eu"  ', ("cluster", "=", "prod-eu")),
        ("job=~orders-.*", ("job", "=~", "orders-.*")),
        ("a=", ("a", "=", "")),
        ("a!=~b", ("a", "!=", "~b")),
        ("a = b  c ", ("a", "=", ("b  c"))),
        ('a="', ("a", "=", '"')),
        ("a==b", ("a", "=", "=b")),
        ('a=" b "', ("a", "=", " b ")),
        ("a.b !~ x", ("a.b", "!~", "x")),
    ],
)
def test_lines_are_read_as_ever(line: str, told: tuple[str, str, str]) -> None:
    (found,) = parse_lines(line)
    assert (found.label, found.operator, found.value) == told


@given(st.text(max_size=60))
def test_any_text_is_matchers_or_refused(text: str) -> None:
    try:
        found = parse_lines(text)
    except BadMatcher:
        return
    assert parse_lines(as_lines(found)) == found or any(
        '"' in one.value or not one.value.isprintable() for one in found
    )


@pytest.mark.django_db
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_door_refuses_what_is_long(operator, text: str) -> None:
    told = {
        "matchers": text,
        "reason": "r",
        "hours": "1",
        "name": "n",
        "url": "https://192.0.2.1/",
        "format": "weir",
        "min_severity": "info",
    }
    for name in ("silence-new", "endpoint-add"):
        assert operator.post(reverse(name), told).status_code == 200, name
    preview = operator.get(reverse("silence-matching"), {"matchers": text})
    assert preview.status_code == 200 and preview.context["wrong"]


@pytest.mark.parametrize("operator", ["=~", "!~"])
@pytest.mark.parametrize("pattern", ["a)|(?:b", "a)|(b", "a)|(?:", ")(", "a)(?:b", ")|(.*"])
def test_no_pattern_leaves_its_anchors(pattern: str, operator: str) -> None:
    """Each would be whole between ``\\A(?:`` and ``)\\z``, and mute or show what it does not name."""
    with pytest.raises(BadMatcher, match="not a regular expression"):
        matcher("cluster", operator, pattern)


@given(st.text("ab()|?:^$\\*.[]QE{1,}", min_size=1, max_size=12))
def test_a_pattern_that_is_taken_is_matched_as_a_whole(pattern: str) -> None:
    try:
        taken = matcher("job", "=~", pattern)
    except BadMatcher:
        return
    for text in ("a", "ab", "ba", "b"):
        # A letter that stands in no pattern ends each match, whatever was matched before it.
        if not set("^.[") & set(pattern):
            assert not taken.accepts(f"{text}~") and not taken.accepts(f"~{text}")
