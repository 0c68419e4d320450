"""Metric and back-pressure answers."""

import pytest

from ingest.errors import Skipped
from ingest.flink_rest.metric_names import SUBTASK_METRICS
from ingest.flink_rest.payloads import metrics, vertices
from tests.ingest.recorded import body

OF_VERTEX = "/jobs/j/vertices/v/metrics"
OF_SUBTASK = "/jobs/j/vertices/v/subtasks/3/metrics"


def columns(body, endpoint=OF_VERTEX):
    return metrics.columns_by_subtask(body, endpoint, SUBTASK_METRICS)


def one(metric_id, value):
    return metrics.columns({metric_id: value}, SUBTASK_METRICS)


def test_both_ways_to_ask_give_the_same():
    of_vertex = [
        {"id": "3.busyTimeMsPerSecond", "value": "12.5"},
        {"id": "3.idleTimeMsPerSecond", "value": "980"},
    ]
    of_subtask = [
        {"id": "busyTimeMsPerSecond", "value": "12.5"},
        {"id": "idleTimeMsPerSecond", "value": "980"},
    ]
    assert columns(of_vertex) == columns(of_subtask, OF_SUBTASK)
    assert columns(of_vertex)[3]["busy_ms_per_s"] == 12.5


def test_the_flat_group_of_old_releases_is_known():
    assert one("buffers.inPoolUsage", "0.5")["in_pool_usage"] == 0.5
    assert one("Shuffle.Netty.Input.Buffers.inPoolUsage", "0.5")["in_pool_usage"] == 0.5


def test_the_second_spelling_fills_in_where_the_first_is_not_a_number():
    both = {"Shuffle.Netty.Output.Buffers.outPoolUsage": "NaN", "buffers.outPoolUsage": "0.25"}
    assert metrics.columns(both, SUBTASK_METRICS)["out_pool_usage"] == 0.25


@pytest.mark.parametrize("value", ["NaN", "-1", "Infinity", "-Infinity", "-1.0"])
def test_a_value_that_flink_does_not_know_is_unknown(value):
    assert one("busyTimeMsPerSecond", value)["busy_ms_per_s"] is None


def test_output_in_overdraft_stays_above_one():
    assert one("buffers.outPoolUsage", "1.2")["out_pool_usage"] == 1.2


@pytest.mark.parametrize(
    ("value", "expected"),
    [("-9223372036854775808", None), ("9223372036854775807", None), ("-5", -5)],
)
def test_a_watermark_may_be_negative_but_its_extremes_mean_none(value, expected):
    assert one("currentInputWatermark", value)["watermark_ms"] == expected


def test_names_alone_are_no_values():
    assert columns([{"id": "0.busyTimeMsPerSecond"}]) == {}


def test_a_value_that_is_no_number_is_named():
    with pytest.raises(Skipped, match="busyTimeMsPerSecond"):
        columns([{"id": "0.busyTimeMsPerSecond", "value": "plenty"}])


def test_ratios_of_the_back_pressure_endpoint_stand_by_subtask():
    found = vertices.backpressured_ratios(
        body("1.20.5/B", "/backpressure", lambda found: found.get("backpressureLevel") == "high")
    )
    assert max(found.values()) > 0.5


def test_an_answer_that_has_only_begun_to_sample_has_no_ratios():
    assert vertices.backpressured_ratios({"status": "deprecated", "subtasks": []}) == {}


def test_what_a_source_reports_is_known_by_the_end_of_its_name_whatever_its_operator_is_called():
    answer = [
        {"id": "3.Source: a.b, c.pendingRecords", "value": "7"},
        {"id": "3.Source__k.KafkaSourceReader.KafkaConsumer.records-lag-max", "value": "5.0"},
        {"id": "3.Source__old.KafkaConsumer.records-lag-max", "value": "6.0"},
        {"id": "3.Source__k.notpendingRecords", "value": "9"},
        {"id": "3.pendingRecords", "value": "9"},
    ]
    told = {name: value for name, value in columns(answer)[3].items() if value is not None}
    assert told == {"pending_records": 7, "records_lag_max": 6}


@pytest.mark.parametrize("value", ["-1", "NaN", "-9223372036854775808", "-5", "9.2e18"])
@pytest.mark.parametrize(
    "name", ["pendingRecords", "currentEmitEventTimeLag", "watermarkLag", "sourceIdleTime"]
)
def test_a_lag_that_is_not_known_yet_is_not_zero(name, value):
    told = columns([{"id": f"0.Source__x.{name}", "value": value}])[0]
    assert all(one is None for one in told.values())
