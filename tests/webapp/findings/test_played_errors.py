"""What a real Flink logged while it had no job: programs in application mode that were not run
(``tests/lab/outages.py``).
"""

import pytest

from spark_jobs.serving import LOG_EVENT
from tests.first_cycles import CLUSTER, served
from tests.played import FOLDER
from webapp.findings import cluster_errors
from webapp.findings.models import Finding
from webapp.fleet.choices import ClusterKind
from webapp.fleet.models import Cluster, LogEvent

pytestmark = pytest.mark.django_db
RULE = "jobmanager.error"


def found(played, home):
    Cluster.objects.create(name=CLUSTER, kind=ClusterKind.RECORDING, enabled=False)
    rows = served(FOLDER / played, home, LOG_EVENT)
    LogEvent.objects.bulk_create(LogEvent(**row) for row in rows)
    cluster_errors.watch_recordings({CLUSTER})
    return list(Finding.objects.all())


@pytest.mark.parametrize("played", ["1.20.5/main-throws", "2.3.0/main-throws"])
def test_a_program_whose_main_throws_is_one_finding_that_says_where(tmp_path, played):
    """1.20 ends the JobManager by a fatal error, 2.3 shuts it down and says why before that."""
    [finding] = found(played, tmp_path)
    assert (finding.rule, finding.severity, finding.job_id) == (RULE, "critical", "")
    assert "NumberFormatException at lab.IncidentJob$Arguments.number" in str(finding.title)
    assert 'For input string: "many"' in str(finding.cause)


def test_a_program_that_runs_is_no_finding(tmp_path):
    assert found("2.3.0/main-runs", tmp_path) == []
