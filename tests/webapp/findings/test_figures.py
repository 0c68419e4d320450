"""Figures of evidence in words."""

import pytest

from webapp.findings.figures import figure_text, figures


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.96, "ratio", "96 %"),
        (4.1, "ratio", "× 4.1"),
        (4_000, "ms", "4.0 s"),
        (600, "s", "10 min"),
        (24, "h", "1 d"),
        (6_900_000, "bytes", "6.9 MB"),
        (12_345, "count", "12,345"),
        (0.15, "count", "0.15"),
        (34.5, "count", "34.5"),
        (986.0, "ms/s", "986 ms/s"),
        (1, "checkpoints", "1 checkpoint"),
        (0.25, "records/s", "0.25 records/s"),
        ("declined", "", "declined"),
        ("start_delay", "", "start delay"),
        ("My_Operator/0", "", "My_Operator/0"),
        (True, "", "yes"),
        (None, "ratio", "–"),
        ("", "", "–"),
        (float("nan"), "ms", "–"),
        (float("inf"), "", "–"),
    ],
)
def test_a_figure_is_said_in_its_unit(value, unit, words):
    assert figure_text(value, unit) == words


def test_what_it_was_compared_with_is_said_in_the_same_unit():
    (figure,) = figures(
        [{"name": "busy", "value": 0.9, "unit": "ratio", "threshold": 0.5, "comparison": ">="}]
    )
    assert (figure.value, figure.compared) == ("90 %", "≥ 50 %")


@pytest.mark.parametrize("evidence", [None, [], [None], ["x"], [{}], [{"value": 1}]])
def test_what_is_no_evidence_is_left_out(evidence):
    assert figures(evidence) == []


def test_a_threshold_that_was_not_reached_does_not_read_as_if_it_had_been():
    (figure,) = figures(
        [{"name": "lost", "value": 0.32, "unit": "ratio", "threshold": 0.5, "comparison": ">="}]
    )
    assert (figure.value, figure.compared) == ("32 %", "not ≥ 50 %")


def test_a_duration_just_beyond_its_threshold_does_not_read_as_equal_to_it():
    (figure,) = figures(
        [{"name": "age", "value": 12_034, "unit": "ms", "threshold": 12_000, "comparison": ">"}]
    )
    assert (figure.value, figure.compared) == ("12.034 s", "> 12 s")
