"""Figures from plain data."""

from datetime import timedelta

import plotly.graph_objects as go
import pytest

from tests.webapp.builders import T0
from tests.webapp.charts.drawn import drawn_of
from webapp.charts import checkpoints, sizes
from webapp.charts.annotations import Annotation, annotation_layout
from webapp.charts.checkpoints import MOST_DRAWN, CheckpointBar, bar_widths_ms
from webapp.charts.sizes import SizePoint, Trend
from webapp.charts.strips import strip

END = T0 + timedelta(hours=1)


def timeline(*arguments, **options):
    figure, note = checkpoints.timeline(*arguments, **options)
    return go.Figure(figure), note


def size_over_time(*arguments):
    figure, note = sizes.size_over_time(*arguments)
    return go.Figure(figure), note


def bar(number=1, minute=1, **fields):
    defaults = {
        "outcome": "completed",
        "end_to_end_ms": 1_000,
        "start_delay_ms": 600,
        "alignment_ms": 200,
        "sync_ms": 50,
        "async_ms": 100,
    }
    return CheckpointBar(number, T0 + timedelta(minutes=minute), **{**defaults, **fields})


def heights(figure):
    return {trace.name: list(trace.y) for trace in figure.data if trace.type == "bar"}


def test_phases_and_the_rest_add_up_to_end_to_end():
    figure, _note = timeline([bar()], T0, END)
    stacked = heights(figure)
    assert sum(parts[0] for parts in stacked.values()) == 1_000
    assert stacked["other or unknown"] == [50]


def test_without_phases_all_of_the_bar_is_unknown():
    figure, _note = timeline(
        [bar(start_delay_ms=None, alignment_ms=None, sync_ms=None, async_ms=None)], T0, END
    )
    assert heights(figure)["other or unknown"] == [1_000]


def test_alignment_is_not_added_to_async_where_the_snapshot_was_unaligned():
    figure, _note = timeline([bar(unaligned=True)], T0, END)
    assert heights(figure)["alignment"] == [0]


def test_a_failed_checkpoint_is_lighter_and_marked_with_a_cross():
    figure, _note = timeline([bar(outcome="expired"), bar(2, 2)], T0, END)
    marks = {trace.name: trace.marker.symbol for trace in figure.data if trace.type == "scatter"}
    assert marks == {"failed": "x", "completed": "circle"}
    assert figure.data[0].marker.opacity[0] < figure.data[0].marker.opacity[1]


def test_the_timeout_is_drawn_only_where_it_is_near():
    near, _note = timeline([bar()], T0, END, timeout_ms=2_000)
    far, _note = timeline([bar()], T0, END, timeout_ms=600_000)
    assert [a.text for a in near.layout.annotations] == ["timeout 2.0 s"]
    assert not far.layout.annotations


def test_a_week_of_checkpoints_says_what_was_left_out():
    drawn_bars = [bar(n, 21 * n) for n in range(MOST_DRAWN)]
    _figure, note = timeline(drawn_bars, T0, T0 + timedelta(days=7), total=10_080)
    assert note == (
        f"{MOST_DRAWN} of 10,080 checkpoints drawn: the failed or slowest one of each slice of time."
    )


def test_no_trace_of_a_month_of_sizes_is_longer_than_a_screen_shows():
    points = [SizePoint(n, T0 + timedelta(minutes=n), 0, 10**6 + n, n) for n in range(43_200)]
    figure, _note = size_over_time(drawn_of(points), T0, T0 + timedelta(days=30))
    assert max(len(trace.x) for trace in figure.data) <= MOST_DRAWN


def test_sizes_of_two_attempts_are_not_joined():
    points = [
        SizePoint(n, T0 + timedelta(minutes=n), 0, 900, 100, job_id="ab"[n > 2]) for n in (1, 2, 3)
    ]
    figure, _note = size_over_time(drawn_of(points), T0, END)
    (line,) = [list(trace.y) for trace in figure.data if trace.name == "full state"]
    assert line == [900, 900, None, 900]


def test_a_version_that_reports_uploads_only_says_so():
    figure, note = size_over_time(
        drawn_of(
            [SizePoint(1, T0, 0, None, 500), SizePoint(2, T0, 0, 900, 900, is_savepoint=True)]
        ),
        T0,
        END,
    )
    assert "uploads only" in note
    assert [len(trace.x) for trace in figure.data if trace.name == "full state"] == [0]


def test_the_trend_goes_on_dotted_to_the_end_of_the_range():
    trend = Trend(T0, T0 + timedelta(minutes=30), 1_000_000.0)
    figure, _note = size_over_time(
        drawn_of([SizePoint(1, T0 + timedelta(minutes=30), 0, 5_000_000, 10)]), T0, END, trend
    )
    forecast = next(trace for trace in figure.data if trace.name == "forecast")
    assert list(forecast.y) == [5_000_000, 5_500_000]


def test_a_trend_without_a_forecast_is_not_drawn_into_the_future():
    trend = Trend(T0, T0 + timedelta(minutes=30), 1_000_000.0, forecast=False)
    figure, _note = size_over_time(
        drawn_of([SizePoint(1, T0 + timedelta(minutes=30), 0, 5_000_000, 10)]), T0, END, trend
    )
    assert [trace.name for trace in figure.data if trace.name in ("trend", "forecast")] == ["trend"]


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '<a href="javascript:alert(1)">x</a>', "<b>bold</b>&amp;"]
)
def test_hostile_names_reach_a_chart_as_text(name):
    figure, _note = timeline(
        [bar(slowest=name, reason=name)], T0, END, events=[Annotation(T0, "restart", name)]
    )
    text = figure.to_json().replace("\\u003c", "<")
    assert not any(part in text for part in ("<script", "<a ", "<b>bold"))


def test_colours_are_tokens_only():
    figure, _note = timeline(
        [bar(), bar(2, 2, outcome="declined")],
        T0,
        END,
        1_000,
        [Annotation(T0, "savepoint", "savepoint 1")],
    )
    json = figure.to_json()
    assert "var(--start-delay)" in json
    assert '"#' not in json and "rgb(" not in json


def test_annotations_that_would_run_into_each_other_lose_their_words_and_keep_their_lines():
    layout, note = annotation_layout(
        [Annotation(T0 + timedelta(seconds=n), "restart", "restart") for n in range(200)], T0, END
    )
    assert len(layout["shapes"]) == 80
    assert [a["text"] for a in layout["annotations"]] == ["↻ restart"]
    assert note == "The newest 80 of 200 annotations are drawn."


def test_annotations_outside_of_the_range_are_not_drawn():
    assert annotation_layout([Annotation(T0 - timedelta(days=1), "restart", "")], T0, END) == (
        {"shapes": [], "annotations": []},
        "",
    )


def test_a_savepoint_beside_a_checkpoint_does_not_make_all_bars_hairlines():
    times = [T0 + timedelta(minutes=n) for n in range(10)]
    times.insert(5, times[4] + timedelta(seconds=1))
    widths = bar_widths_ms(times, 3_600_000, 0.72)
    assert widths[0] == pytest.approx(43_200)
    assert min(widths) >= 4_500


def test_a_strip_says_in_words_what_it_draws():
    outcomes = [{"outcome": "completed"}] * 3 + [{"outcome": "expired"}]
    drawing = strip(outcomes)
    assert "4 last: 3 completed, 1 expired; newest expired" in drawing
    assert drawing.count("<path") == 2


@pytest.mark.parametrize("outcomes", [None, [], [{"outcome": "<script>"}], [{}]])
def test_a_strip_of_nothing_known_is_a_dash(outcomes):
    assert strip(outcomes) == "–"
