"""One number to sort ended jobs, which have no health."""

from collections.abc import Mapping
from typing import Any

from ingest.job_states import NOT_LISTED
from spark_jobs.serving import FAILED_OUTCOMES

# An unlisted job has an unknown end: sorted before jobs that ended normally and after failed ones.
_OF_STATE = {"FAILED": 100, "FAILING": 95, "RESTARTING": 90, "SUSPENDED": 80, NOT_LISTED: 50}
_ENDED_WELL = ("FINISHED", "CANCELED")


ENDED_WEIGHS_LESS = 8
"""An ended job at its worst (75) stays below any running one that fails at all (30)."""


def trouble(job: Mapping[str, Any]) -> int:
    """0 nothing known … 100 the job is gone, for a row of ``job_current``. The state outweighs
    failed checkpoints, these outweigh back-pressure.
    """
    state = job["state"] or ""
    if state in _OF_STATE:
        return _OF_STATE[state]
    failed_share = (job["recent_failed"] or 0) / (job["recent_total"] or 1)
    failing = round(30 + 35 * min(failed_share, 1)) if failed_share else 0
    if job["last_outcome"] in FAILED_OUTCOMES:
        failing += 10
    pressured = round(25 * min(max(job["pressured_share"] or 0, 0), 1))
    trouble_score = max(failing, pressured)
    return trouble_score // ENDED_WEIGHS_LESS if state in _ENDED_WELL else trouble_score
