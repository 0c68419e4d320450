"""A number that sorts ended jobs, which have no health."""

from collections.abc import Mapping
from typing import Any

from ingest.job_states import NOT_LISTED

# How a job ended that is no longer listed is unknown: it comes between failed and finished jobs.
_OF_STATE = {"FAILED": 100, "FAILING": 95, "RESTARTING": 90, "SUSPENDED": 80, NOT_LISTED: 50}


def trouble(job: Mapping[str, Any]) -> int:
    """0 to 100 (failed), for a row of ``job_current``."""
    return _OF_STATE.get(job["state"] or "", 0)
