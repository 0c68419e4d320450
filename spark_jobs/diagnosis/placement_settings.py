"""The setting that makes Flink spread tasks over TaskManagers, by version:
``cluster.evenly-spread-out-slots`` (FLINK-12122), since 1.19 ``taskmanager.load-balance.mode``
(FLIP-370).
"""

from collections.abc import Mapping
from typing import Any

from ingest.messages import message
from spark_jobs.diagnosis.samples import EVENLY_SPREAD, LOAD_BALANCE_MODE

TASKS_SINCE = (2, 2)
"""Older releases spread slots regardless of their tasks."""


def spreading_setting(version: tuple[int, ...]) -> str:
    if version >= TASKS_SINCE:
        return message("{mode:name}: TASKS", mode=LOAD_BALANCE_MODE)
    return (
        message("{mode:name}: SLOTS", mode=LOAD_BALANCE_MODE)
        if version >= (2, 0)
        else message("{evenly:name}: true", evenly=EVENLY_SPREAD)
    )


def spreads(version: tuple[int, ...], settings: Mapping[str, Any]) -> bool:
    mode = str(settings.get(LOAD_BALANCE_MODE) or "").upper()
    if version >= TASKS_SINCE:
        return mode == "TASKS"
    return mode == "SLOTS" or str(settings.get(EVENLY_SPREAD) or "").lower() == "true"
