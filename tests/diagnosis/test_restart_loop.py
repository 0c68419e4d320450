"""restart.loop, and what it is made of: episodes and root exceptions."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.restart_episodes import episodes
from spark_jobs.diagnosis.root_exceptions import lost_taskmanager, root_of, unnumbered
from spark_jobs.diagnosis.samples import Annotation, VertexWindow
from tests import windows
from tests.diagnosis.jobs import (
    MINUTELY,
    checkpoint,
    event,
    evidence,
    failure,
    found,
    ms,
    restart,
    window,
)
from tests.played import answers, occurrences, of_rule
from tests.raw_outages import raw_outages

RULE = "restart.loop"
QUICK = replace(MINUTELY, interval_ms=5_000)


def trace(key=7, line=117):
    return (
        f"java.lang.RuntimeException: Enrichment failed for key {key}\n"
        f"\tat shop.Enrich.map(Enrich.java:{line})\n"
        "\tat "
        "org.apache.flink.streaming.api.operators.StreamMap.processElement(StreamMap.java:38)\n"
        "\tat java.base/java.lang.Thread.run(Thread.java:840)\n"
        "Caused by: java.io.IOException: Connection reset by peer: /10.11.12.13:5432\n"
        "\t... 17 more\n"
    )


LOST = (
    "org.apache.flink.runtime.io.network.netty.exception.RemoteTransportException: Connection "
    "unexpectedly closed by remote task manager "
    "'flink-tm-1/127.0.2.11:33701 [ tm-{n}:37687-13b354 ] '. This might indicate that the remote "
    "task manager was lost.\n"
    "\tat "
    "org.apache.flink.runtime.io.network.netty.CreditBasedPartitionRequestClientHandler.channelInactive(X.java:134)\n"
)


def loop(at, make=lambda index: trace(index), config=QUICK, **values):
    """A failure, a restart and a checkpoint two seconds later at each of these times."""
    checkpoints = [checkpoint(index + 1, begun + 2, "aborted") for index, begun in enumerate(at)]
    failures = tuple(
        failure(begun, make(index), task="enrich (2/4)", host="host-3")
        for index, begun in enumerate(at)
    )
    values.setdefault("failures", failures)
    return window(
        *checkpoints,
        annotations=tuple(restart(begun) for begun in at),
        at=max(at) + 10,
        config=config,
        **values,
    )


def test_three_episodes_in_ten_minutes_are_a_loop_of_one_root_exception():
    [finding] = found(loop([0, 60, 120]), RULE)
    assert finding.title == (
        "3 restart episodes within 10 min: java.io.IOException at shop.Enrich.map(Enrich.java:117)"
    )
    assert (finding.severity, finding.confidence) == ("critical", "high")
    assert finding.evidence[0].value == 3
    assert finding.seen_at_ms == ms(120)
    assert finding.data["groups"] == {"java.io.IOException at shop.Enrich.map(Enrich.java:117)": 3}


def test_two_are_none_and_neither_are_three_hours_apart():
    assert not found(loop([0, 60]), RULE)
    assert not found(loop([0, 3_600, 7_200]), RULE)


def test_restarts_before_all_tasks_run_again_are_one_episode():
    cascade = loop([0])
    many = tuple(restart(at) for at in (0, 1, 2, 3, 4))
    assert not found(
        replace(cascade, annotations=many, checkpoints=(checkpoint(1, 9, "aborted"),)), RULE
    )


def test_five_lost_taskmanagers_with_cascades_are_five_episodes():
    begun = [0, 60, 120, 180, 240]
    cascades = tuple(restart(at + step) for at in begun for step in (0, 1.5, 3))
    of_each = tuple(lost(at, f"tm-{index}:37687-13b354") for index, at in enumerate(begun))
    failing = loop(begun, lambda index: LOST.replace("{n}", str(index)))
    shifted = tuple(
        replace(one, trigger_time_ms=one.trigger_time_ms + 5_000) for one in failing.checkpoints
    )
    [finding] = found(replace(failing, annotations=cascades + of_each, checkpoints=shifted), RULE)
    assert evidence(finding, "restart episodes") == 5
    assert sum(episode["restarts"] for episode in finding.data["episodes"]) == 15
    assert finding.data["lost_taskmanagers"] == [f"tm-{n}:37687-13b354" for n in range(5)]
    assert "lost" in finding.title


def test_a_task_that_fails_each_time_is_named_with_its_host_and_the_host_is_not_blamed():
    [finding] = found(loop([0, 60, 120, 180], vertex_windows=spread_over(4)), RULE)
    assert "share of failures on one host" not in {one.name for one in finding.evidence}
    assert not finding.related
    assert "all failures come from enrich (2/4), on host-3" in finding.next_step


FULL_DISK = (
    "java.lang.Exception: Could not perform checkpoint 7 for operator enrich (3/4)#0.\n"
    "\tat org.apache.flink.streaming.runtime.tasks.StreamTask.performCheckpoint(X.java:1314)\n"
    "Caused by: java.io.IOException: No space left on device\n"
    "\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)\n"
)


def spread_over(hosts, most_on=None):
    """Eight subtasks, evenly on so many hosts, ``host-3`` among them, or all on one."""
    where = tuple(most_on or f"host-{index % hosts}" for index in range(8))
    return (VertexWindow("enrich", parallelism=8, samples=2, host=where),)


def on_one_host(text, *, times=4, **values):
    several = tuple(
        failure(60 * n, text, task=f"enrich ({n}/4)", host="host-3") for n in range(times)
    )
    [finding] = found(loop([60 * n for n in range(times)], failures=several, **values), RULE)
    return finding


def test_a_host_whose_disk_is_full_is_looked_at_first():
    finding = on_one_host(FULL_DISK, vertex_windows=spread_over(4))
    assert finding.next_step.startswith("Look at host-3 first")
    assert "100 % of the failures were on host-3, which runs 25 % of the tasks" in finding.cause
    assert [one.subject for one in finding.related] == ["host-3"]


@pytest.mark.parametrize(
    ("text", "tasks"),
    [
        pytest.param(FULL_DISK, spread_over(4, most_on="host-3"), id="all its tasks run there"),
        pytest.param(FULL_DISK, spread_over(1, most_on="host-9"), id="it runs elsewhere by now"),
        pytest.param(FULL_DISK, (), id="nobody knows where tasks run"),
        pytest.param(trace(), spread_over(4), id="the job's code calls a database"),
        pytest.param(
            "java.lang.IllegalArgumentException: bad record\n\tat shop.Enrich.map(Enrich.java:9)\n",
            spread_over(4),
            id="a record",
        ),
        pytest.param(
            "java.sql.SQLException: too many connections\n"
            "\tat org.apache.flink.connector.jdbc.JdbcOutputFormat.flush(X.java:7)\n",
            spread_over(4),
            id="a connector calls a database",
        ),
        pytest.param(
            "java.lang.OutOfMemoryError: Java heap space\n\tat java.util.Arrays.copyOf(X.java:1)\n",
            spread_over(4),
            id="what the job keeps",
        ),
    ],
)
def test_a_host_is_not_blamed_for_what_its_share_of_tasks_or_the_code_explains(text, tasks):
    finding = on_one_host(text, vertex_windows=tasks)
    assert "Look at" not in finding.next_step
    assert not finding.related
    assert "of the failures were on" not in finding.cause


def test_three_of_three_on_one_of_two_hosts_are_chance():
    two = (VertexWindow("enrich", parallelism=4, samples=2, host=("host-3", "host-1") * 2),)
    assert "Look at" not in on_one_host(FULL_DISK, times=3, vertex_windows=two).next_step
    assert "Look at" in on_one_host(FULL_DISK, times=5, vertex_windows=two).next_step


def test_failures_on_many_hosts_blame_none():
    spread = tuple(
        failure(60 * n, trace(), task="enrich (2/4)", host=f"host-{n}") for n in range(4)
    )
    [finding] = found(loop([0, 60, 120, 180], failures=spread), RULE)
    assert "share of failures on one host" not in {one.name for one in finding.evidence}


def test_without_exceptions_it_is_told_with_less_certainty():
    [finding] = found(loop([0, 60, 120], failures=()), RULE)
    assert finding.confidence == "medium"
    assert "not known" in finding.cause


def test_the_log_tells_exceptions_where_rest_did_not():
    failed = tuple(
        event(60 * n, "task_state", fields={"to_state": "FAILED"}, detail=trace(n), host="host-3")
        for n in range(3)
    )
    [finding] = found(loop([0, 60, 120], failures=(), events=failed), RULE)
    assert "shop.Enrich.map" in finding.title


def test_a_job_whose_tasks_never_all_run_again_is_stuck():
    stuck = window(
        annotations=tuple(restart(at) for at in (0, 100, 200, 300, 380)), at=400, config=QUICK
    )
    deployed = tuple(
        event(at + 1, "task_deployed", vertex_id="enrich", subtask=0)
        for at in (0, 100, 200, 300, 380)
    )
    [finding] = found(replace(stuck, events=deployed), RULE)
    assert "without all tasks running again" in finding.title


def test_a_job_that_fails_at_each_start_by_the_same_exception_is_a_loop_although_its_tasks_never_run():
    starts = [0, 2, 4, 6]
    at_start = loop(starts, config=replace(MINUTELY, interval_ms=60_000))
    [finding] = found(replace(at_start, checkpoints=(checkpoint(1, -300),), at_ms=ms(9)), RULE)
    assert finding.title.startswith(
        "4 restarts without all tasks running again: java.io.IOException at shop.Enrich.map"
    )
    assert finding.evidence[0].value == 4


def test_one_lost_taskmanager_is_no_loop_however_many_restarts_it_makes():
    cascade = loop(
        [0, 2, 4, 6],
        lambda index: LOST.replace("{n}", "1"),
        config=replace(MINUTELY, interval_ms=60_000),
    )
    assert not found(replace(cascade, checkpoints=(checkpoint(1, -300),), at_ms=ms(9)), RULE)


def test_changes_of_the_parallelism_are_no_failures():
    scaled = loop([0, 120, 240], failures=())
    seen = tuple(Annotation(ms(at + 20), "rescale", "enrich") for at in (0, 120, 240))
    assert not found(replace(scaled, annotations=(*scaled.annotations, *seen)), RULE)


def test_the_log_shows_when_all_deployed_tasks_run():
    seen = (
        restart(0),
        [event(1, "task_deployed", vertex_id="e", subtask=n) for n in (0, 1)],
        [
            event(3 + n, "task_state", vertex_id="e", subtask=n, fields={"to_state": "RUNNING"})
            for n in (0, 1)
        ],
    )
    [episode] = episodes(
        window(annotations=seen[:1], events=tuple(seen[1] + seen[2]), at=30), ms(-10)
    )
    assert episode.ended_ms == ms(4)


def test_a_restart_is_told_once_by_log_and_annotation():
    by_log = event(0.4, "job_state", fields={"to_state": "RESTARTING"})
    [episode] = episodes(window(annotations=(restart(0),), events=(by_log,), at=30), ms(-10))
    assert episode.restarts == (ms(0.4),)


def test_a_job_that_has_run_since_its_last_restart_long_ago_has_no_episode():
    ran = window(checkpoint(1, 30), annotations=(restart(0),), at=3_600)
    assert episodes(ran, ms(3_000)) == []


def test_restarts_a_second_apart_are_the_same_in_whatever_order_they_are_told():
    [one] = episodes(window(annotations=(restart(0), restart(1), restart(2)), at=30), ms(-10))
    [other] = episodes(window(annotations=(restart(1), restart(2), restart(0)), at=30), ms(-10))
    assert one.restarts == other.restarts


def test_long_intervals_do_not_make_episodes_one():
    rare = loop([0, 120, 240], config=replace(MINUTELY, interval_ms=1_800_000))
    [finding] = found(replace(rare, checkpoints=(checkpoint(1, -600),)), RULE)
    assert evidence(finding, "restart episodes") == 3


def test_exceptions_of_one_place_are_one_group_whatever_their_words():
    assert root_of("x", trace(7)).group == root_of("x", trace(11641)).group
    assert root_of("x", trace(7)).group != root_of("x", trace(7, line=118)).group


def test_without_own_frames_the_message_counts_and_numbers_in_it_do_not():
    first = root_of("x", "java.util.concurrent.TimeoutException: Heartbeat of 'a' after 50000 ms")
    assert first.frame is None
    assert (
        first.group
        == root_of("x", "java.util.concurrent.TimeoutException: Heartbeat of 'b' after 7 ms").group
    )


def test_an_exception_without_a_trace_is_its_name():
    assert root_of("java.lang.OutOfMemoryError", None).group == "java.lang.OutOfMemoryError: "


def test_words_survive_the_removal_of_numbers():
    assert unnumbered("key 11641 of tm-3f2a faded in 'a b'") == "key # of tm# faded in …"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("TimeoutException: Heartbeat of TaskManager with id tm-1:4-d1 timed out.", "tm-1:4-d1"),
        ("TaskManager with id tm-1:4-d1(host-1:6122) is no longer reachable.", "tm-1:4-d1"),
        (LOST.replace("{n}", "3"), "tm-3:37687-13b354"),
        (
            "Connection unexpectedly closed by remote task manager 'host-1/10.0.0.1:6121'.",
            "host-1/10.0.0.1:6121",
        ),
        (
            "Lost connection to task manager 'host-1/10.0.0.1:6121 [ container_1(host-1:8041) ] '. "
            "This indicates that the remote task manager was lost.",
            "container_1",
        ),
        ("Error at remote task manager 'host-1/10.0.0.1:6121 [ tm-1 ] '.", None),
        ("java.io.IOException: disk full", None),
        (None, None),
    ],
)
def test_a_lost_taskmanager_is_named(text, name):
    assert lost_taskmanager(text) == name


WRAPPED = (
    "org.apache.flink.runtime.checkpoint.CheckpointException: Could not complete snapshot 7 for "
    "operator enrich (2/4)#0. "
    "Failure reason: Checkpoint was declined.\n"
    + "".join(
        f"\tat org.apache.flink.streaming.runtime.tasks.Frame{n}.run(Frame{n}.java:{n})\n"
        for n in range(80)
    )
)


def test_flinks_wrapper_is_not_the_root_where_anybody_tells_what_it_wraps():
    wrapped = tuple(failure(begun, WRAPPED, task=None) for begun in (0, 60, 120))
    told = tuple(
        event(
            begun + 1,
            "task_state",
            fields={"to_state": "FAILED"},
            vertex_name="enrich",
            subtask=1,
            detail=trace(3),
        )
        for begun in (0, 60, 120)
    )
    [finding] = found(loop([0, 60, 120], failures=wrapped, events=told), RULE)
    assert finding.data["groups"] == {"java.io.IOException at shop.Enrich.map(Enrich.java:117)": 3}
    [alone] = found(loop([0, 60, 120], failures=wrapped), RULE)
    assert "CheckpointException" in alone.title


def test_a_failure_that_rest_and_log_both_tell_is_one():
    failures = tuple(
        failure(begun, trace(), task="enrich (2/4) - execution #0") for begun in (0, 60, 120)
    )
    later = tuple(
        event(
            begun + 0.5,
            "task_state",
            fields={"to_state": "FAILED"},
            vertex_name="enrich",
            detail=WRAPPED,
        )
        for begun in (0, 60, 120)
    )
    for episode in episodes(loop([0, 60, 120], failures=failures, events=later), ms(-10)):
        assert [one.name for one in episode.failures] == ["java.lang.RuntimeException"]


def lost(at, name):
    return Annotation(ms(at), "taskmanager_lost", name)


def test_lost_taskmanagers_are_those_that_were_lost_meanwhile_whatever_failures_name():
    named = tuple(
        failure(begun, LOST.replace("{n}", "7"), task="sink (1/2)") for begun in (0, 60, 120)
    )
    judged = loop([0, 60, 120], failures=named)
    meanwhile = (
        lost(0, "tm-1:37687-13b354"),
        lost(61, "tm-2:37687-13b354"),
        lost(63, "tm-2:37687-13b354"),
        lost(-300, "tm-9:37687-13b354"),
    )
    [finding] = found(replace(judged, annotations=(*judged.annotations, *meanwhile)), RULE)
    assert finding.data["lost_taskmanagers"] == ["tm-1:37687-13b354", "tm-2:37687-13b354"]


def test_where_no_exception_is_known_the_lost_taskmanagers_are_the_cause():
    judged = loop([0, 60, 120], failures=())
    by_log = tuple(lost(60 * n, f"tm-{n}:37687-13b354") for n in range(3))
    [finding] = found(replace(judged, annotations=(*judged.annotations, *by_log)), RULE)
    assert finding.cause.startswith("TaskManagers were lost: tm-0:37687-13b354, tm-1:37687-13b354")
    assert finding.confidence == "medium"


def test_a_taskmanager_that_reports_an_error_of_its_task_is_not_lost():
    assert (
        lost_taskmanager(
            "RemoteTransportException: Error at remote task manager 'host-1/10.0.0.1:6121 [ "
            "tm-1:4-d1 ] '."
        )
        is None
    )


@pytest.mark.parametrize("name", ["1.20.5-I", "1.20.5-J"])
def test_recorded_episodes_end_when_every_task_runs_again(name):
    window = windows.recorded_windows(name)[-1]
    told = [(one.begun_ms, one.ended_ms) for one in episodes(window, window.at_ms - 600_000)]
    assert told == [(one.begun_ms, one.ended_ms) for one in raw_outages(name.replace("-", "/"))]


@pytest.mark.parametrize("name", ["1.20.5-I", "1.20.5-J"])
def test_no_host_is_blamed_for_recorded_failures_of_code_and_of_killed_processes(name):
    found_there = [one for window in windows.recorded_windows(name) for one in found(window, RULE)]
    assert found_there
    for one in found_there:
        assert "cordon" not in one.next_step and "Look at" not in one.next_step
        assert "of the failures were on" not in one.cause
        assert "host" not in {related.kind for related in one.related}


@pytest.mark.parametrize(
    "played",
    ["1.20.5/lost-file", "1.20.5/short-transactions", "2.3.0/few-buffers", "2.3.0/killed"],
)
def test_nor_for_those_of_missing_files_transactions_buffers_and_lost_taskmanagers(played):
    found_there = of_rule(played, RULE)
    assert found_there
    for one in found_there:
        assert "cordon" not in one["next_step"]
        assert "host" not in {related["kind"] for related in one["related"]}


@pytest.mark.parametrize("played", ["1.17.2/resetting-database", "2.1.1/resetting-database"])
def test_a_database_that_resets_connections_is_the_cause_and_no_host_is(played):
    """Both hosts call it; which of them Flink names first is chance."""
    traces = [
        (entry["taskManagerId"].partition(":")[0], entry["stacktrace"])
        for answer in answers(played, r"/jobs/[0-9a-f]{32}/exceptions")
        for entry in answer.body["exceptionHistory"]["entries"]
    ]
    assert {host for host, _trace in traces} == {"flink-tm-1", "flink-tm-2"}
    assert all("java.net.SocketException: Connection reset" in trace for _host, trace in traces)
    found_there = of_rule(played, RULE)
    assert found_there and {one["rule"] for one in occurrences(played)} == {RULE}
    for one in found_there:
        assert set(one["data"]["causes"]) == {"CONNECTION_BROKEN"}
        assert "lab.Lookup.ask" in one["title"]
        assert "says which system it is" in one["next_step"]
        assert not one["related"]
        assert "flink-tm" not in one["cause"] + one["next_step"]


def test_of_one_episode_the_restarts_are_counted():
    at_start = loop([0, 2, 4, 6], config=replace(MINUTELY, interval_ms=60_000))
    [finding] = found(replace(at_start, checkpoints=(checkpoint(1, -300),), at_ms=ms(9)), RULE)
    assert finding.title.startswith("4 restarts ")
    assert finding.cause.startswith(
        "The root exception of these restarts was java.io.IOException at shop.Enrich.map"
    )


def test_a_cause_of_some_episodes_does_not_stand_for_all():
    other = "java.lang.IllegalStateException: closed\n\tat shop.Lookup.ask(Lookup.java:9)\n"
    mixed = loop([0, 60, 120, 180], make=lambda index: other if index == 3 else trace(index))
    [finding] = found(mixed, RULE)
    assert finding.cause.startswith(
        "3 of 4 restart episodes are alike. The root exception of these restarts was "
        "java.io.IOException at shop.Enrich.map"
    )


def test_beside_a_known_cause_no_other_is_called_unknown():
    other = "java.lang.IllegalStateException: closed\n\tat shop.Lookup.ask(Lookup.java:9)\n"
    mixed = loop([0, 60, 120, 180], make=lambda index: trace(index) if index else other)
    [finding] = found(mixed, RULE)
    causes = [one.value for one in finding.evidence if one.name == "cause"]
    assert causes == ["the connection to an outside system broke"]
