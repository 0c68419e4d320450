"""The states of input and output pools: of real clusters by their raw answers, and each by its
definition.
"""

import json
import re
from collections import defaultdict
from statistics import median

import pytest

from spark_jobs.diagnosis.pool_states import TRANSITIONAL, pool_state
from tests.ingest.recorded import RECORDINGS

USAGE = re.compile(r"/jobs/[0-9a-f]{32}/vertices/([0-9a-f]{32})/subtasks/(\d+)/metrics\?")


def usages(
    recording: str,
) -> tuple[dict[str, str], dict[str, list[str]], dict[str, dict[str, float]]]:
    """Vertices by name, those before each, and the median over subtasks of each one's mean usage in
    the second half of the recording.
    """
    names, before = {}, {}
    values: dict[str, dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    lines = [
        json.loads(line) for line in (RECORDINGS / recording / "rest.jsonl").open(encoding="utf-8")
    ]
    half = (lines[0]["ts"] + lines[-1]["ts"]) / 2
    for line in lines:
        if (
            re.fullmatch(r"/jobs/[0-9a-f]{32}", line["path"])
            and line["status"] == 200
            and line["body"]["plan"].get("nodes")
        ):
            names = {vertex["name"]: vertex["id"] for vertex in line["body"]["vertices"]}
            before = {
                node["id"]: [one["id"] for one in node.get("inputs", ())]
                for node in line["body"]["plan"]["nodes"]
            }
        found = USAGE.match(line["path"])
        for metric in (
            line["body"] if found and line["ts"] >= half and line["status"] == 200 else ()
        ):
            if (
                metric["id"].split(".")[-1]
                in ("inPoolUsage", "outPoolUsage", "inputFloatingBuffersUsage")
                and "value" in metric
            ):
                values[found[1]][metric["id"].split(".")[-1]][found[2]].append(
                    float(metric["value"])
                )
    means = {
        vertex: {
            metric: median(sum(one) / len(one) for one in of.values())
            for metric, of in metrics.items()
        }
        for vertex, metrics in values.items()
    }
    return names, before, means


@pytest.mark.parametrize("recording", ["1.20.5/B", "1.20.5/F"])
def test_a_slow_operator_is_the_origin_and_those_before_it_are_held(recording: str) -> None:
    names, before, means = usages(recording)
    states = {}
    for name, vertex in names.items():
        own = means[vertex]
        is_last = not any(vertex in others for others in before.values())
        states[name.split(" ->")[0]] = pool_state(
            max(
                (
                    own[metric]
                    for metric in ("inPoolUsage", "inputFloatingBuffersUsage")
                    if metric in own
                ),
                default=None,
            ),
            0.0 if is_last else own.get("outPoolUsage"),
            [means[one].get("outPoolUsage") for one in before[vertex]],
            is_source=not before[vertex],
        )
    assert states == {
        "Source: clicks": "held",
        "parse": "held",
        "slow-enrich": "origin",
        "sink-writer": "flows",
    }


@pytest.mark.parametrize(
    ("input", "output", "before", "state"),
    [
        (0.1, 0.2, [0.2], "flows"),
        (0.9, 0.95, [0.9], "held"),
        (0.9, 0.2, [0.9], "origin"),
        (0.9, 0.2, [0.1, None], "input fills"),
        (0.2, 0.9, [0.2], "output fills"),
        (0.0, 0.9, [0.2], "held"),
        (None, 0.9, [0.2], "held"),
        (None, 0.2, [0.2], None),
        (0.9, 0.2, [None], None),
        (0.1, None, [0.2], None),
    ],
)
def test_each_state_by_its_usages(
    input: float | None, output: float | None, before: list[float | None], state: str | None
) -> None:
    found = pool_state(input, output, before, is_source=False)
    assert found == state
    assert (found in TRANSITIONAL) == (state is not None and "fills" in state)


def test_a_source_has_no_input() -> None:
    assert [pool_state(None, output, (), is_source=True) for output in (0.9, 0.1, None)] == [
        "held",
        "flows",
        None,
    ]
