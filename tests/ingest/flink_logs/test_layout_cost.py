"""Whoever may declare a layout may also send the lines: no accepted layout holds up who reads
them.
"""

from time import process_time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest.errors import Refused
from ingest.flink_logs.layouts import FLINK, Layout, LineLayouts, layout_of, zone_of

LINE_BYTES = 64 * 1024
MOST_S = 0.05
"""A few milliseconds, and some air for a busy machine; what is not linear takes minutes."""
DATE = "2026-11-21 04:00:00,123"

CONVERTERS = ("%t", "%x", "%l", "%c", "%C", "%M", "%L", "%p", "%-5p", "%60c", "%%", "%n", "%ex")
SIGNS = (*"a-.:~]Z \t]", "- ", " - ", " -", "  ", "] [", "-" * 40, "- " * 20, "é")


PART = st.tuples(
    st.sampled_from(CONVERTERS), st.sampled_from(("", *SIGNS)), st.sampled_from(("", "", *SIGNS))
).map("".join)


@st.composite
def layouts(draw: st.DrawFn) -> str:
    before, behind = (draw(st.lists(PART, max_size=most)) for most in (2, 18))
    return "".join(
        [
            *before,
            draw(st.sampled_from(("", "[", "-"))),
            "%d",
            *behind,
            draw(st.sampled_from(("%m", " %m", "~%m", "X%m"))),
        ]
    )


RUN = st.tuples(
    st.sampled_from((*SIGNS, "INFO ", "[a] ", "a-", "a.b", "- a", "", "[[", ")", f"{DATE} ")),
    st.integers(1, 700),
)
LINES = st.lists(RUN, min_size=1, max_size=12).map(
    lambda runs: "".join(text * times for text, times in runs)
)


def long(line: str) -> bytes:
    """As long as a line may be, of its text again and again."""
    return (line.encode() * (LINE_BYTES // len(line.encode()) + 1))[:LINE_BYTES]


def cost_s(layout: Layout, line: bytes) -> float:
    """Of looking at the line in each way in which a reader does; the best of three where it is not
    cheap at once.
    """
    lines = LineLayouts(layout, zone_of("UTC", layout), None)
    best = float("inf")
    for _ in range(3):
        begun = process_time()
        lines.are_own(b"\n" + line + b"\n")
        lines.have_header(line)
        lines.of(line, b"")
        best = min(best, process_time() - begun)
        if best < MOST_S:
            break
    return best


@example("%d %t%t%t%t%t~%m", "", "a" * 1_200)
@example("%d %x %x %x %x %x~%m", "", " " * LINE_BYTES)
@example("%d %x-%x-%x-%x-%x~%m", "", "-" * LINE_BYTES)
@example("%d %c-%c-%c-%c-%c~%m", "", "-" * LINE_BYTES)
@example("%d %x1" + "%L-" * 15 + "~%m", "", "1" * 299 + ("b" * 299 + "-") * 200)
@example("%d %x" + "- " * 100 + "~%m", "", "- " * 150 + ("-" + " " * 199) * 300)
@settings(max_examples=300)
@given(layouts(), st.sampled_from(["", "INFO ", " ", "a", "-"]), LINES)
def test_any_accepted_layout_reads_any_line_in_a_bounded_time(
    pattern: str, before: str, rest: str
) -> None:
    try:
        layout = layout_of(pattern)
    except Refused:
        return
    begin = pattern.partition("%d")[0].replace("%-5p", "INFO").replace("%", "")
    line = f"{before or begin}{DATE} {rest}"
    for one in (line.encode()[:LINE_BYTES], long(line)):
        assert cost_s(layout, one) < MOST_S


@given(LINES)
def test_a_layout_that_is_known_by_itself_reads_any_line_in_a_bounded_time(rest: str) -> None:
    assert cost_s(FLINK, long(f"{DATE} {rest}")) < MOST_S


@pytest.mark.parametrize(
    "pattern",
    ["%d %t%t~%m", "%d %t%x~%m", "%d %c%x - %m", "%-60c%p %d %m", "%d %c%n%L %m", "%c%d %m"],
)
def test_parts_of_any_length_with_nothing_between_are_refused_with_what_to_write(
    pattern: str,
) -> None:
    with pytest.raises(
        Refused, match=r"there is no text between %.* write the text that is printed between them"
    ):
        layout_of(pattern)


def test_a_layout_has_so_many_parts_and_is_so_long_at_most() -> None:
    with pytest.raises(Refused, match="20 conversions"):
        layout_of("%d " + "%L-" * 20 + "%m")
    with pytest.raises(Refused, match="500 characters"):
        layout_of("%d " + "x" * 500 + "%m")


@pytest.mark.parametrize(
    ("pattern", "header", "logger"),
    [
        (
            "%d [%t] %-5p %c{1} - %m",
            f"{DATE} [Source: a[1] -> Calc[2] (1/1)#0] WARN  Foo - ",
            "Foo",
        ),
        ("%d %-5p [%t] %c - %m", f"{DATE} WARN  [a[1] -> Calc[2] -> b] x.Foo - ", "x.Foo"),
        ("%d %-5p[%t] %c - %m", f"{DATE} WARN [a b] x.Foo - ", "x.Foo"),
        ("%d %p %c %x - %m", f"{DATE} WARN a.B  - ", "a.B"),
        ("%d %p %c %x - %m", f"{DATE} WARN a.B some mdc - ", "a.B"),
        ("%d %p %c - %m", f"{DATE} WARN  - ", ""),
        ("%d %p %60c - %m", f"{DATE} WARN                 a.B - ", "a.B"),
        ("%d %p %c %L - %m", f"{DATE} WARN a.B  - ", "a.B"),
        ("%d %p %c.%M(%F:%L) %m", f"{DATE} WARN a.b-c.B.<init>(B.java:12) ", "a.b-c.B"),
        ("%d %p %c.%M:%L - %m", f"{DATE} WARN a.b.B.c:12 - ", "a.b.B"),
        ("%d %p %c-%m", f"{DATE} WARN a-b.B-", "a-b.B"),
        ("%d\t%p\t%c\t%m", f"{DATE}\tWARN\ta.B\t", "a.B"),
        ("a (log) %d %X{a} %X{b} %p %c - %m", f"a (log) {DATE}   WARN a.B - ", "a.B"),
        ("%d{yyyy-MM-dd HH:mm:ss,SSS')'} %c: %m", f"{DATE}) a.B: ", "a.B"),
        ("%d{HH:mm:ss dd/MM/yyyy} %c: %m", "04:00:00 21/11/2026 a.B: ", "a.B"),
        ("%c %d{yyyy-MM-dd HH:mm:ss,SSS} %m", f"a.B {DATE} ", "a.B"),
    ],
)
def test_what_a_layout_prints_is_taken_apart_where_it_was_put_together(
    pattern: str, header: str, logger: str
) -> None:
    layout = layout_of(pattern)
    found = LineLayouts(layout, zone_of("UTC", layout), None).own(
        f"{header}message of (2) ~ parts - x".encode()
    )
    assert found
    assert found[0].decode() == header
    assert found[layout.group("logger")].decode() == logger
