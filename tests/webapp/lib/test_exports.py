"""Downloads."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.builders import T0
from webapp.lib.exports import csv_response, json_response, safe_cell

BEFORE_A_FORMULA = ("＝1+1", "＋1", "－2+3", "＠SUM(A1)", "\ufeff=1", "\u00a0=1", "\u200b\u200d=1", "\u3000@x", "\x00=1", "\u2028-1")
"""Full-width signs, and what programs skip: a byte order mark, spaces that do not break, zero-width characters."""


@pytest.mark.parametrize("text", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "  =cmd|' /C calc'!A0", "\r=1", *BEFORE_A_FORMULA])
def test_a_spreadsheet_sees_text_where_it_would_see_a_formula(text):
    assert safe_cell(text).startswith("'")


def test_numbers_stay_numbers_even_negative_ones():
    assert safe_cell(-5) == -5


@given(st.text())
def test_no_cell_begins_like_a_formula(text):
    assert not str(safe_cell(text)).lstrip(" ").startswith(("=", "+", "-", "@"))


def test_unknown_is_an_empty_cell_and_instants_are_utc():
    body = b"".join(csv_response("x", ("a", "b", "c"), [{"a": None, "b": T0, "c": [1]}]).streaming_content).decode()
    assert list(csv.reader(io.StringIO(body))) == [["a", "b", "c"], ["", "2026-03-01T04:10:00.000Z", "[1]"]]


@pytest.mark.parametrize("count", [0, 1, 3])
def test_json_is_a_list_whatever_its_length(count):
    rows = [{"a": n, "at": T0} for n in range(count)]
    assert [row["a"] for row in json.loads(b"".join(json_response("x", ("a", "at"), rows).streaming_content))] == list(range(count))


def test_a_hostile_name_cannot_leave_its_header():
    header = csv_response('x"\r\nSet-Cookie: a', ("a",), [])["Content-Disposition"]
    assert header == 'attachment; filename="x---Set-Cookie--a.csv"'
