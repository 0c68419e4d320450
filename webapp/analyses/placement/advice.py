"""What to set so that tasks are placed more evenly: it depends on the version of Flink, and on what
is set already.
"""

from collections.abc import Mapping
from typing import Any

from ingest.messages import message
from spark_jobs.diagnosis.placement_settings import TASKS_SINCE, spreading_setting, spreads
from spark_jobs.diagnosis.samples import EVENLY_SPREAD, LOAD_BALANCE_MODE


def advice(version: tuple[int, ...] | None, configuration: Mapping[str, Any] | None) -> str:
    """One or two sentences; what is set already is said."""
    settings = configuration or {}
    by_hand = message(
        "Before 2.2, give vertices of smaller parallelism a slot sharing group of their own, or "
        "all vertices the same parallelism."
    )
    if version is None:
        return message(
            "The version of Flink is not known: {mode:name} TASKS (2.2 and later), "
            "SLOTS (1.19 and later) or {evenly:name} (before) spread tasks.",
            mode=LOAD_BALANCE_MODE,
            evenly=EVENLY_SPREAD,
        )
    if version >= TASKS_SINCE:
        if spreads(version, settings):
            return message(
                "{mode:name} is TASKS already. After failovers, a larger slot.request.max-interval "
                "lets Flink see all requests at once.",
                mode=LOAD_BALANCE_MODE,
            )
        return message(
            "Set {setting:name} for the cluster and restart the job: Flink then balances its "
            "tasks.",
            setting=spreading_setting(version),
        )
    if spreads(version, settings):
        return message(
            "Flink already spreads slots over TaskManagers. Since 2.2 it also balances tasks "
            "within slots ({mode:name}: TASKS). {by_hand:message}",
            mode=LOAD_BALANCE_MODE,
            by_hand=by_hand,
        )
    spread = message(
        "slots are then spread over TaskManagers. Since 2.2 Flink also balances tasks within slots."
    )
    return message(
        "Set {setting:name} for the cluster: {spread:message} {by_hand:message}",
        setting=spreading_setting(version),
        spread=spread,
        by_hand=by_hand,
    )
