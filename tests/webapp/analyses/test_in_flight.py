"""Data in flight of real jobs: persisted as Flink told it; what can be in flight, recounted channel
by channel.
"""

import html
import json
import re
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import CLUSTER, served_tables
from tests.webapp.analyses.answers import facts_of, tables_of
from tests.webapp.builders import T0, cluster, fact, job
from tests.webapp.placement.recorded import FIXTURES, answers
from webapp.analyses.document import Advice, Asked
from webapp.analyses.job.in_flight import in_flight as analysis
from webapp.analyses.job.in_flight import job_in_flight
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent

pytestmark = pytest.mark.django_db


def taken_up(recording, home):
    jobs, facts = served_tables(FIXTURES / recording, home, JOB_CURRENT, CHECKPOINT_FACT)
    JobCurrent.objects.bulk_create(JobCurrent(**row) for row in jobs)
    CheckpointFact.objects.bulk_create(CheckpointFact(**row) for row in facts)
    own = JobCurrent.objects.get()
    cluster(CLUSTER, at=own.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    return own


def answered(of):
    return analysis.answer(of, Asked(T0, T0, T0))


def said_of(of):
    return answered(of).verdict.sentence


def advice_of(of):
    return [
        line for block in answered(of).blocks if isinstance(block, Advice) for line in block.lines
    ]


def buffers_by_hand(recording):
    """Channel by channel, from Flink's plan: 2 for each, 8 floating for each gate and partition, 5
    of overdraft for each partition.
    """
    plan = [
        one["body"] for one in answers(recording) if re.fullmatch("/jobs/[0-9a-f]{32}", one["path"])
    ][-1]
    parallelism = {one["id"]: one["parallelism"] for one in plan["vertices"]}
    count = 0
    for node in plan["plan"]["nodes"]:
        for edge in node.get("inputs", ()):
            source, target = parallelism[edge["id"]], parallelism[node["id"]]
            pointwise = edge["ship_strategy"] in ("FORWARD", "RESCALE")
            for consumer in range(target):
                channels = [
                    one
                    for one in range(source)
                    if not pointwise
                    or consumer * source // target
                    <= one
                    < max((consumer + 1) * source // target, consumer * source // target + 1)
                ]
                count += 2 * len(channels) + 8
            for producer in range(source):
                partitions = [
                    one
                    for one in range(target)
                    if not pointwise
                    or one * source // target
                    <= producer
                    < max((one + 1) * source // target, one * source // target + 1)
                ]
                count += max(len(partitions) + 1, 2 * len(partitions) + 8) + 5
    return count


@pytest.mark.parametrize(
    "recording",
    ["recordings/1.20.5/L2", "incidents/1.20.5/overtaking", "incidents/2.3.0/overtaking"],
)
def test_what_was_persisted_is_what_flink_told_and_no_more_than_can_be_in_flight(
    recording, home, viewer: Client
):
    of = taken_up(recording, home)
    at = (CLUSTER, of.job_id)
    document = viewer.get(reverse("api-job-analysis-in-flight", args=at)).json()
    facts, tables = facts_of(document), tables_of(document)
    told = [
        one["body"]["history"] for one in answers(recording) if one["path"].endswith("/checkpoints")
    ][-1]
    persisted = {one["id"]: one["persisted_data"] for one in told if one["status"] == "COMPLETED"}
    shown = {int(one["checkpoint_id"]): one["bytes"] for one in tables["checkpoints"]["rows"]}
    both = (
        shown.keys() & persisted.keys()
    )  # Flink's history holds savepoints too, and more than are shown
    assert len(both) >= 5
    assert {number: shown[number] for number in both} == {
        number: persisted[number] for number in both
    }
    assert facts["buffers"] == buffers_by_hand(recording)
    assert 0 < facts["persisted_bytes"] <= facts["most_bytes"] == facts["buffers"] * 32 * 1024
    assert facts["unaligned"] is True
    out = StringIO()
    call_command("analyse", *at, "in-flight", "--json", stdout=out)
    assert json.loads(out.getvalue()) == document
    said = document["verdict"]["sentence"]
    assert said in html.unescape(viewer.get(reverse("in-flight", args=at)).content.decode())
    out = StringIO()
    call_command("analyse", *at, "in-flight", stdout=out)
    assert said in out.getvalue()


def test_before_1_16_there_is_no_overdraft_and_what_is_not_known_is_said_to_be_unknown():
    of = job(at=T0, flink_version="1.12.5", configuration=None)
    found = job_in_flight(of, T0)
    assert (found.overdraft_per_partition, found.debloats, found.can_debloat) == (0, None, False)
    assert "unknown: no completed checkpoint reports it" in said_of(of)
    JobCurrent.objects.update(graph=None)
    assert said_of(JobCurrent.objects.get()).startswith("How much can be in flight is unknown")


def test_checkpoints_that_write_mostly_what_is_in_flight_are_told_what_to_set():
    of = job(at=T0, configuration={})
    fact(of, 1, T0, unaligned=True, persisted_bytes=600, checkpointed_bytes=1000)
    fact(of, 2, T0, unaligned=True, persisted_bytes=None, checkpointed_bytes=10**9)
    found = job_in_flight(of, T0)
    assert found.written_share == 0.6
    lines = advice_of(of)
    assert lines[0].startswith("60 % of what unaligned checkpoints wrote")
    assert "buffer-debloat.enabled: true" in lines[1]


def test_where_little_is_in_flight_fewer_buffers_are_not_advised():
    of = job(at=T0, configuration={"taskmanager.network.memory.buffer-debloat.enabled": "true"})
    fact(of, 1, T0, unaligned=True, persisted_bytes=10, checkpointed_bytes=1000)
    assert not advice_of(of)


def test_aligned_checkpoints_persist_none_of_it():
    of = job(at=T0, configuration={}, checkpoint_config={"unaligned": False})
    fact(of, 1, T0, unaligned=False, persisted_bytes=0)
    assert "Checkpoints are aligned and persist none of it" in said_of(of)
