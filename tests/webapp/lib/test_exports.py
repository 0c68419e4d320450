"""Downloads."""

import csv
import io
from decimal import Decimal

import pytest
from django.utils.translation import gettext_lazy
from hypothesis import given
from hypothesis import strategies as st

from tests.selections import for_each
from tests.webapp.builders import T0
from webapp.lib.exports import export_response, safe_cell

UNSEEN = [
    *" \t\n\x00\x1b\x85\xa0\xad\u115f\u200b\u200e\u2028\u2060\u2800\u3000\u3164\ufe0f\ufeff",
    "\ufeff \xa0\u200d",
]


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-2+3", "@SUM(A1)", "\t=1", "  =cmd|' /C calc'!A0", "\r=1"]
)
def test_a_spreadsheet_sees_text_where_it_would_see_a_formula(text):
    assert safe_cell(text).startswith("'")


@pytest.mark.parametrize("sign", "＝＋－＠﹦﹢﹣﹫⁼⁺⁻−")
def test_other_forms_of_a_sign_begin_no_formula_either(sign):
    assert safe_cell(f"{sign}1") == f"'{sign}1"


@for_each(unseen=UNSEEN, sign="=+-@＝＋－＠")
def test_what_is_not_seen_in_front_of_a_sign_hides_no_formula(unseen, sign):
    assert safe_cell(f"{unseen}{sign}1").startswith("'")


@pytest.mark.parametrize("separator", [";", "\n", "\r\n"])
@pytest.mark.parametrize("begin", ["=", "+", "-", "@", " ＝", "\u200b−"])
def test_what_separates_cells_elsewhere_begins_no_formula_within_a_text(separator, begin):
    assert safe_cell(f"a{separator}{begin}1;b") == f"a{separator}'{begin}1;b"


@pytest.mark.parametrize(
    "text", ["a;b", "at x\n\tat y", "a=1", "1-2", "\ufeffname", "\xa0", "界=1", "'=1", ""]
)
def test_other_text_stays_as_it_is(text):
    assert safe_cell(text) == text


@pytest.mark.parametrize("value", [-5, -0.5, Decimal("-1.5")])
def test_numbers_stay_numbers_even_negative_ones(value):
    assert safe_cell(value) is value


def test_what_is_written_as_text_is_safe_whatever_its_type_and_so_are_headings():
    body = b"".join(
        export_response("x", ("=a",), [{"=a": gettext_lazy("=1")}]).streaming_content
    ).decode()
    assert list(csv.reader(io.StringIO(body))) == [["'=a"], ["'=1"]]


@given(st.text())
def test_no_cell_begins_like_a_formula(text):
    assert not str(safe_cell(text)).lstrip().startswith(tuple("=+-@＝＋－＠"))


def test_unknown_is_an_empty_cell_and_instants_are_utc():
    body = b"".join(
        export_response("x", ("a", "b", "c"), [{"a": None, "b": T0, "c": [1]}]).streaming_content
    ).decode()
    assert list(csv.reader(io.StringIO(body))) == [
        ["a", "b", "c"],
        ["", "2026-03-01T04:10:00.000Z", "[1]"],
    ]


def test_a_hostile_name_cannot_leave_its_header():
    header = export_response('x"\r\nSet-Cookie: a', ("a",), [])["Content-Disposition"]
    assert header == 'attachment; filename="x---Set-Cookie--a.csv"'
