"""restart.taskmanager_lost: a loss matters where the job does not run without the TaskManager."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.samples import Annotation
from tests.diagnosis.jobs import checkpoint, failure, found, minutely, ms, restart, window

RULE = "restart.taskmanager_lost"
NAME = "tm-1:37687-13b354"
TRACE = (
    "org.apache.flink.runtime.io.network.netty.exception.RemoteTransportException: Connection "
    f"unexpectedly closed by remote task manager 'tm-1/10.0.0.7:6121 [ {NAME} ] '. This might "
    "indicate that the remote task manager was lost.\n"
)


def down(at, *checkpoints, lost=True, **values):
    """Lost at 600 s, after which the job restarts."""
    losses = (Annotation(ms(601), "taskmanager_lost", NAME),) if lost else ()
    return window(*minutely(10), *checkpoints, at=at, annotations=(restart(600), *losses), **values)


def test_a_job_that_does_not_run_without_its_lost_taskmanager_is_told_of_after_ten_seconds():
    [finding] = found(down(611), RULE)
    assert (finding.severity, finding.confidence) == ("warning", "high")
    assert finding.data["lost_taskmanagers"] == [NAME] and NAME in finding.title


@pytest.mark.parametrize(
    "judged",
    [
        down(608),
        down(620, checkpoint(11, 606)),
        down(620, lost=False),
        replace(down(620), terminal=True),
        down(630, failures=(failure(600, TRACE), failure(612, "java.io.IOException: no file"))),
    ],
    ids=["just restarted", "runs again", "nothing was lost", "ended", "fails otherwise"],
)
def test_it_is_quiet_where_the_job(judged):
    assert found(judged, RULE) == ()


def test_without_the_log_the_trace_names_it_with_less_certainty():
    [finding] = found(down(615, lost=False, failures=(failure(600, TRACE),)), RULE)
    assert finding.confidence == "medium" and len(finding.data["lost_taskmanagers"]) == 1
