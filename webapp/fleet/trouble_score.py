"""One number to sort ended jobs, which have no health."""

from collections.abc import Mapping
from typing import Any

from ingest.job_states import NOT_LISTED

# An unlisted job has an unknown end: sorted before jobs that ended normally and after failed ones.
_OF_STATE = {"FAILED": 100, "FAILING": 95, "RESTARTING": 90, "SUSPENDED": 80, NOT_LISTED: 50}


def trouble(job: Mapping[str, Any]) -> int:
    """0 nothing known … 100 the job is gone, for a row of ``job_current``."""
    return _OF_STATE.get(job["state"] or "", 0)
