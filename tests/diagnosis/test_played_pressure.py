"""pressure.outbound, watermark.stalled and uneven state, as a real Flink played them; expected
figures are taken from its raw answers.
"""

from collections import defaultdict
from statistics import mean, median

import pytest

from spark_jobs.diagnosis import registry
from tests.diagnosis.graphs import LIMITS
from tests.played import answers, evidence, occurrences, of_rule, vertices
from tests.windows import recorded_windows

VERTEX_METRICS = r"/jobs/[0-9a-f]{32}/vertices/([0-9a-f]{32})/metrics\?.*"


def measured(played: str, vertex: str, metric: str) -> dict[int, list[tuple[float, float]]]:
    """Subtask → (time, value) of one metric, as Flink answered; what it is below has another name
    in each release.
    """
    vertex_id, found = vertices(played)[vertex], defaultdict(list)
    for answer in answers(played, VERTEX_METRICS):
        if answer.found == (vertex_id,):
            for one in answer.body:
                subtask, _, name = one["id"].partition(".")
                if name.rpartition(".")[2] == metric:
                    found[int(subtask)].append((answer.at, float(one["value"])))
    return dict(found)


def mean_between(samples: list[tuple[float, float]], begin: float, end: float) -> float:
    return mean(value for at, value in samples if begin <= at < end)


@pytest.mark.parametrize("played", ["1.20.5/slow-network", "2.3.0/slow-network"])
def test_a_slow_network_holds_what_produces_more_than_it_carries(played):
    found = of_rule(played, "pressure.outbound")
    assert len(found) >= 2
    waits = measured(played, "enrich", "backPressuredTimeMsPerSecond")
    outputs = measured(played, "enrich", "outPoolUsage")
    rests = measured(played, "sink", "idleTimeMsPerSecond")
    for one in found:
        assert (one["subject"], one["subject_id"]) == ("enrich", vertices(played)["enrich"])
        begin = one["window_start"].timestamp()
        by_subtask = {
            subtask: mean_between(samples, begin, begin + 60) / 1000
            for subtask, samples in waits.items()
        }
        held = sorted(subtask for subtask, share in by_subtask.items() if share >= 0.5)
        assert one["data"]["hot_subtasks"] == held != []
        assert evidence(one, "enrich back-pressured") == pytest.approx(
            median(by_subtask[subtask] for subtask in held)
        )
        full = max(mean_between(outputs[subtask], begin, begin + 60) for subtask in held)
        assert evidence(one, "enrich output") == pytest.approx(full, abs=0.02)
        assert evidence(one, "sink working") == pytest.approx(
            1 - mean_between(rests[0], begin, begin + 60) / 1000, abs=0.02
        )


@pytest.mark.parametrize("played", ["1.20.5/slow-network", "2.3.0/slow-network"])
def test_nothing_else_is_blamed_for_a_slow_network(played):
    assert {one["rule"] for one in occurrences(played)} == {"pressure.outbound"}


def state_of(played: str, vertex: str) -> dict[int, list[int]]:
    """Trigger time (epoch ms) of each completed checkpoint → full state of the subtasks of a
    vertex, in bytes.
    """
    vertex_id, triggered, sizes = vertices(played)[vertex], {}, {}
    for answer in answers(played, r"/jobs/[0-9a-f]{32}/checkpoints/details/([0-9]+)"):
        if answer.body["status"] == "COMPLETED":
            triggered[answer.found[0]] = answer.body["trigger_timestamp"]
    for answer in answers(
        played, rf"/jobs/[0-9a-f]{{32}}/checkpoints/details/([0-9]+)/subtasks/{vertex_id}"
    ):
        if (
            answer.found[0] in triggered
            and answer.body["num_acknowledged_subtasks"] == answer.body["num_subtasks"]
        ):
            sizes[triggered[answer.found[0]]] = [
                one["state_size"] for one in answer.body["subtasks"]
            ]
    return sizes


@pytest.mark.parametrize("name", ["1.20.5-B", "1.20.5-C2", "1.20.5-F", "1.20.5-L2"])
def test_a_job_held_by_a_slow_operator_is_not_held_by_its_channels(name):
    assert [
        one
        for window in recorded_windows(name)
        for one in registry.diagnose(window, LIMITS, ("pressure.outbound",)).findings
    ] == []


LARGE = 64 * 1024**2


@pytest.mark.parametrize("played", ["1.20.5/hot-state", "2.3.0/declared-idle:lab-hot-state"])
def test_one_key_that_grows_is_state_of_one_subtask_although_records_are_even(played):
    states = state_of(played, "enrich")
    found = of_rule(played, "data.skew")
    assert found
    for one in found:
        largest = evidence(one, "state of the largest subtask")
        (sizes,) = [sizes for sizes in states.values() if max(sizes) == largest]
        assert (one["subject"], one["data"]["of"]) == ("enrich", "state")
        assert (
            one["data"]["hot_subtasks"]
            == one["data"]["state_hot_subtasks"]
            == [sizes.index(max(sizes))]
        )
        assert largest >= LARGE
        assert evidence(one, "state, largest over typical") == pytest.approx(
            max(sizes) / min(sizes)
        )
        assert one["data"]["share"] == pytest.approx(max(sizes) / sum(sizes))
        assert "single keys of enrich" in one["next_step"]
    rates = [
        mean(value for _at, value in samples)
        for samples in measured(played, "enrich", "numRecordsInPerSecond").values()
    ]
    assert max(rates) < 1.5 * min(rates)


@pytest.mark.parametrize("played", ["1.20.5/hot-state", "2.3.0/declared-idle:lab-hot-state"])
def test_a_state_that_is_not_large_yet_is_left_alone(played):
    """The same job in its first minute: as uneven, but written in no time."""
    states = state_of(played, "enrich")
    small = [
        at_ms
        for at_ms, sizes in states.items()
        if max(sizes) > 3 * min(sizes) and max(sizes) < LARGE
    ]
    assert len(small) >= 3
    assert all(
        one["window_start"].timestamp() * 1000 + 60_000 > max(small)
        for one in of_rule(played, "data.skew")
    )


@pytest.mark.parametrize("played", ["1.20.5/large-state", "2.3.0/large-state"])
def test_a_large_state_that_all_subtasks_share_is_not_uneven(played):
    largest = max(state_of(played, "enrich").values(), key=sum)
    assert min(largest) > LARGE
    assert of_rule(played, "data.skew") == []


IDLE_PARTITION = ["1.20.5/idle-partition", "2.3.0/declared-idle:lab-idle-partition"]


@pytest.mark.parametrize("played", IDLE_PARTITION)
def test_a_partition_without_data_that_is_not_declared_idle_holds_event_time(played):
    source = next(name for name in vertices(played) if name.startswith("Source"))
    marks = measured(played, "parse", "currentInputWatermark")
    emitted = measured(played, source, "numRecordsOutPerSecond")
    final = min(samples[-1][1] for samples in marks.values())
    moved = max(at for samples in marks.values() for at, mark in samples if mark != final)
    found = of_rule(played, "watermark.stalled")
    assert found
    for one in found:
        begin, judged_at = one["window_start"].timestamp(), one["as_of"].timestamp()
        silent = [
            subtask
            for subtask, samples in emitted.items()
            if mean_between(samples, begin, begin + 60) == 0
        ]
        assert (one["subject"], silent) == ("parse", [1])
        assert one["data"]["silent_inputs"] == [
            {"vertex_id": vertices(played)[source], "vertex_name": source, "subtasks": silent}
        ]
        assert evidence(one, "watermark") == final
        still_s = evidence(one, "watermark unmoved") / 1000
        assert 300 <= still_s <= judged_at - moved <= still_s + 120
        assert {known["subject"] for known in one["related"]} >= {"enrich", "sink"}


@pytest.mark.parametrize("played", IDLE_PARTITION)
def test_event_time_that_stands_still_for_less_than_five_minutes_is_left_alone(played):
    marks = measured(played, "parse", "currentInputWatermark")[0]
    moved = max(at for at, mark in marks if mark != marks[-1][1])
    assert all(
        one["as_of"].timestamp() >= moved + 300 for one in of_rule(played, "watermark.stalled")
    )


@pytest.mark.parametrize(
    "played", ["1.20.5/declared-idle", "2.3.0/declared-idle:lab-declared-idle"]
)
def test_a_partition_without_data_that_is_declared_idle_holds_nothing(played):
    """As silent as the one that is not, and for as long, on 2.3.0 on the same cluster: but event
    time moves on.
    """
    source = next(name for name in vertices(played) if name.startswith("Source"))
    rates = measured(played, source, "numRecordsOutPerSecond")[1]
    spoke = max(at for at, rate in rates if rate)
    silent_s = rates[-1][0] - min(at for at, _rate in rates if at > spoke)
    assert silent_s > 300
    for samples in measured(played, "parse", "currentInputWatermark").values():
        marks = [mark for at, mark in samples if at > spoke]
        # Flink answers a poll with figures that it fetched at the one before now and then: the same
        # mark twice.
        assert marks == sorted(marks) and len(set(marks)) > 5
        assert marks[-1] - marks[0] > 0.9 * silent_s * 1000
    assert of_rule(played, "watermark.stalled") == []


SLOW_HOST = pytest.mark.parametrize("played", ["1.17.2/slow-host", "2.1.1/slow-host"])


def by_host(played: str, vertex: str) -> dict[str, list[int]]:
    """Host → subtasks of a vertex there, as Flink answered last."""
    *_, last = answers(played, rf"/jobs/[0-9a-f]{{32}}/vertices/{vertices(played)[vertex]}")
    found: dict[str, list[int]] = {}
    for one in sorted(last.body["subtasks"], key=lambda one: one["subtask"]):
        host = (one.get("endpoint") or one["host"]).partition(":")[0]
        found.setdefault(host, []).append(one["subtask"])
    return found


@SLOW_HOST
def test_of_a_slow_host_all_subtasks_are_busy_and_it_is_compared_before_any_key(played):
    slow = by_host(played, "enrich")["flink-tm-1"]
    assert len(slow) == 2
    found = of_rule(played, "pressure.root")
    assert found
    busy = measured(played, "enrich", "busyTimeMsPerSecond")
    for one in found:
        begin = one["window_start"].timestamp()
        means = {
            index: mean_between(samples, begin, begin + 60) / 1000
            for index, samples in busy.items()
        }
        assert one["data"]["hot_subtasks"] == slow
        assert slow == sorted(index for index, ratio in means.items() if ratio >= 0.5)
        assert evidence(one, "enrich busy") == pytest.approx(median(means[i] for i in slow))
        assert one["next_step"].startswith("Compare flink-tm-1 with the other hosts first")


@SLOW_HOST
def test_keys_and_channels_are_not_blamed_for_a_slow_host(played):
    """The sink takes nothing from subtasks of the fast host while the barriers of the slow one are
    on their way: for most of the time, these wait with full outputs before an idle sink.
    """
    fast = by_host(played, "enrich")["flink-tm-2"]
    waits = measured(played, "enrich", "backPressuredTimeMsPerSecond")
    assert all(max(value for _, value in waits[index]) > 900 for index in fast)
    assert median(value for _, value in measured(played, "sink", "busyTimeMsPerSecond")[0]) < 50
    found = occurrences(played)
    assert {one["rule"] for one in found} == {"pressure.root", "checkpoint.start_delay"}
    told = " ".join(one["cause"] + one["next_step"] for one in found)
    assert "hot keys" not in told and "slow network" not in told


@pytest.mark.parametrize("played", ["1.17.2/slow-host-unaligned", "2.1.1/slow-host-unaligned"])
def test_where_the_fast_host_idles_the_slow_one_is_named_and_no_key_is(played):
    slow = by_host(played, "enrich")["flink-tm-1"]
    taken = measured(played, "enrich", "numRecordsInPerSecond")
    rates = [mean(value for _, value in taken[index][3:]) for index in range(4)]
    assert 0.4 < sum(rates[index] for index in slow) / sum(rates) < 0.6
    found = of_rule(played, "pressure.skew")
    assert found
    for one in found:
        assert one["data"]["hot_subtasks"] == slow
        assert 0.4 < one["data"]["records_in_share"] < 0.6
        assert [related["subject"] for related in one["related"]] == ["flink-tm-1"]
        assert one["next_step"].startswith("Compare flink-tm-1 with the other hosts first")
    assert not {"data.skew", "pressure.outbound"} & {one["rule"] for one in occurrences(played)}
    told = " ".join(one["cause"] + one["next_step"] for one in occurrences(played))
    assert "hot keys" not in told
