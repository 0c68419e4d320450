"""The setting that makes Flink spread tasks over TaskManagers, by version:
``cluster.evenly-spread-out-slots`` (FLINK-12122), since 1.19 ``taskmanager.load-balance.mode``
(FLIP-370).
"""

from collections.abc import Mapping
from typing import Any

from spark_jobs.diagnosis.samples import EVENLY_SPREAD, LOAD_BALANCE_MODE

TASKS_SINCE = (2, 2)
"""Older releases spread slots regardless of their tasks."""


def spreading_setting(version: tuple[int, ...]) -> str:
    if version >= TASKS_SINCE:
        return f"{LOAD_BALANCE_MODE}: TASKS"
    return f"{LOAD_BALANCE_MODE}: SLOTS" if version >= (2, 0) else f"{EVENLY_SPREAD}: true"


def spreads(version: tuple[int, ...], settings: Mapping[str, Any]) -> bool:
    mode = str(settings.get(LOAD_BALANCE_MODE) or "").upper()
    if version >= TASKS_SINCE:
        return mode == "TASKS"
    return mode == "SLOTS" or str(settings.get(EVENLY_SPREAD) or "").lower() == "true"
