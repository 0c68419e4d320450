"""What to set so that tasks are placed more evenly: it depends on the version of Flink, and on what is set already."""

from collections.abc import Mapping
from typing import Any

from spark_jobs.diagnosis.placement_settings import EVENLY, MODE, TASKS_SINCE, spreading_setting


def advice(version: tuple[int, ...] | None, configuration: Mapping[str, Any] | None) -> str:
    """One or two sentences; what is set already is said."""
    settings = configuration or {}
    mode = str(settings.get(MODE) or "").upper()
    by_hand = "Before 2.2, give vertices of smaller parallelism a slot sharing group of their own, or all vertices the same parallelism."
    if version is None:
        return f"The version of Flink is not known: {MODE} TASKS (2.2 and later), SLOTS (1.19 and later) or {EVENLY} (before) spread tasks."
    if version >= TASKS_SINCE:
        if mode == "TASKS":
            return f"{MODE} is TASKS already. After failovers, a larger slot.request.max-interval lets Flink see all requests at once."
        return f"Set {spreading_setting(version)} for the cluster and restart the job: Flink then places tasks by both rules."
    if mode == "SLOTS" or str(settings.get(EVENLY) or "").lower() == "true":
        return f"Flink spreads slots over TaskManagers already; tasks within slots it balances since 2.2 ({MODE}: TASKS). {by_hand}"
    spread = "slots are then spread over TaskManagers. Tasks within slots Flink balances since 2.2."
    return f"Set {spreading_setting(version)} for the cluster: {spread} {by_hand}"
