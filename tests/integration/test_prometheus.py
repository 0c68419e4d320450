"""A real Prometheus scrapes a real Flink, and the collector reads it."""

import pytest

from ingest.records import Job, VertexMetrics
from tests.lab.prometheus import EXECUTABLE
from tests.lab.prometheus_recording import record

pytestmark = [pytest.mark.integration, pytest.mark.long]


@pytest.mark.skipif(
    EXECUTABLE is None, reason="Prometheus is not installed: apt-get install prometheus"
)
@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_samples_of_every_subtask_come_at_every_step(version, tmp_path):
    found = record(version, tmp_path)
    records = [record for part in found.observed for record in part.records]
    (job,) = {one.job_id: one for one in records if isinstance(one, Job)}.values()
    samples = [one for one in records if isinstance(one, VertexMetrics)]
    assert job.state == "RUNNING"
    assert {one.vertex_id for one in samples} == {vertex.vertex_id for vertex in job.vertices}
    newest = max(one.ts for one in samples)
    for one in samples:
        if one.ts == newest:
            assert None not in one.busy_ms_per_s
