"""Medians of outages, and what spare slots would save; a restart delay in Flink's spellings."""

from datetime import UTC, datetime

import pytest

from webapp.analyses.recovery.failover import phases, restart_delay_ms, spare_slots
from webapp.lib.outage import Outage

AT = datetime(2026, 11, 1, tzinfo=UTC)


def outage(downtime_ms=None, **parts):
    return Outage(AT, downtime_ms=downtime_ms, parts=tuple(parts.items()))


def test_a_task_alone_is_away_for_detection_deployment_and_restore():
    found = phases(
        [
            outage(9_000, detect=100, cancel=50, wait=5_000, redeploy=300, restore=2_000),
            outage(1_000, wait=10),
        ]
    )
    assert (found.outages, found.downtime_ms, found.alone_ms) == (2, 5_000, 2_400)


def test_of_no_outage_nothing_is_known():
    assert phases([]).alone_ms is None
    assert phases([outage()]).downtime_ms is None


def test_spare_slots_save_what_lost_taskmanagers_made_it_wait_longer():
    found = [
        (outage(wait=30_000, failed_attempts=10_000), 1),
        (outage(wait=2_000), 0),
        (outage(wait=4_000), 0),
    ]
    spare = spare_slots(found, 1_000, 4)
    assert (spare.outages, spare.lost_wait_ms, spare.usual_ms, spare.saved_ms, spare.slots) == (
        1,
        40_000,
        3_000,
        37_000,
        4,
    )
    assert spare_slots(found[:1], 1_000, 4).saved_ms == 39_000
    assert spare_slots(found[:1], None, 4) is None
    assert spare_slots(found[1:], 1_000, 4) is None
    assert spare_slots([(outage(wait=500), 1)], 1_000, None).saved_ms == 0


@pytest.mark.parametrize(
    ("text", "ms"),
    [("2s", 2_000), ("500 ms", 500), ("1 min", 60_000), ("", None), ("soon", None), (None, None)],
)
def test_the_delay_of_the_restart_strategy(text, ms):
    assert restart_delay_ms({"restart-strategy.fixed-delay.delay": text}) == ms
