"""The setting by which Flink spreads tasks over TaskManagers, by version.

Sources: FLINK-12122 (``cluster.evenly-spread-out-slots``, 1.9.2), FLIP-370
(``taskmanager.load-balance.mode``: SLOTS since 1.19, TASKS since 2.2).
"""

from ingest.messages import message

MODE, EVENLY = "taskmanager.load-balance.mode", "cluster.evenly-spread-out-slots"
TASKS_SINCE = (2, 2)
"""Before it, Flink spreads slots, however full they are."""


def spreading_setting(version: tuple[int, ...]) -> str:
    """Key and value, as a configuration file has them."""
    if version >= TASKS_SINCE:
        return message("{mode:name}: TASKS", mode=MODE)
    return (
        message("{mode:name}: SLOTS", mode=MODE)
        if version >= (2, 0)
        else message("{evenly:name}: true", evenly=EVENLY)
    )
