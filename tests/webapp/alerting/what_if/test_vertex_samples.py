"""Samples of the lake as the rules read them: the same means as Spark makes."""

from datetime import UTC, datetime, timedelta

from webapp.alerting.what_if.vertex_samples import vertex_windows

T0 = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)
NAMES = (
    "in_pool_usage",
    "out_pool_usage",
    "exclusive_usage",
    "floating_usage",
    "busy_ms_per_s",
    "backpressured_ms_per_s",
    "idle_ms_per_s",
    "backpressured_ratio",
    "records_in_per_s",
    "records_out_per_s",
    "watermark_ms",
    "pending_records",
    "emit_lag_ms",
    "source_idle_ms",
    "host",
    "taskmanager_id",
    "task_state",
    "counted_at",
    "attempt",
    "records_in",
    "records_out",
)


def sample(second=0, vertex_id="v", parallelism=None, **arrays):
    return {
        **dict.fromkeys(NAMES),
        "vertex_id": vertex_id,
        "ts": T0 + timedelta(seconds=second),
        "parallelism": parallelism,
        **arrays,
    }


def only(*samples):
    (windows,) = vertex_windows(samples).values()
    (window,) = windows
    return window


def test_each_subtask_is_averaged_over_its_own_samples():
    window = only(sample(0, busy_ms_per_s=[200.0, None]), sample(20, busy_ms_per_s=[400.0, 600.0]))
    assert window.busy_ratio == (0.3, 0.6)
    assert window.samples == 2


def test_minutes_are_apart():
    assert sorted(vertex_windows([sample(0), sample(59), sample(60)])) == [
        int(T0.timestamp() + s) * 1000 for s in (0, 60)
    ]


def test_a_replayed_sample_counts_once():
    assert only(sample(0, busy_ms_per_s=[200.0]), sample(0, busy_ms_per_s=[200.0])).samples == 1


def test_start_up_values_do_not_count():
    idle = {
        "busy_ms_per_s": [1000.0],
        "records_in_per_s": [0.0],
        "records_out_per_s": [0.0],
        "in_pool_usage": [0.0],
    }
    assert only(sample(0, **idle)).busy_ratio == ()
    assert only(sample(0, **{**idle, "in_pool_usage": [0.9]})).busy_ratio == (1.0,)


def test_tasks_that_are_not_running_tell_nothing_but_their_place():
    window = only(
        sample(
            0, busy_ms_per_s=[500.0, 500.0], task_state=["INITIALIZING", "RUNNING"], host=["a", "b"]
        )
    )
    assert (window.busy_ratio, window.host) == ((None, 0.5), ("a", "b"))


def test_the_endpoint_tells_of_back_pressure_where_no_time_does():
    window = only(sample(0, backpressured_ms_per_s=[300.0, None], backpressured_ratio=[1.0, 0.5]))
    assert window.backpressured_ratio == (0.3, 0.5)


def test_no_share_of_the_time_is_more_than_all_of_it():
    measured = {"backpressured_ms_per_s": [1043.0], "busy_ms_per_s": [1200.0]}
    window = only(sample(0, records_in_per_s=[5.0], **measured))
    assert (window.backpressured_ratio, window.busy_ratio) == ((1.0,), (1.0,))


def test_the_newest_watermark_counts_and_nobody_reported_is_empty():
    window = only(sample(0, watermark_ms=[5]), sample(10, watermark_ms=[7]))
    assert (window.watermark_ms, window.out_pool_usage) == ((7,), ())
