"""What is advised depends on the version and on what is set already."""

import pytest

from ingest.flink_rest.versions import release
from webapp.analyses.placement.job_placement import advice
from webapp.fleet.job_plan import buffer_settings


@pytest.mark.parametrize(
    ("version", "configuration", "says"),
    [
        ("2.3.0", {}, "Set taskmanager.load-balance.mode: TASKS"),
        ("2.2.0", {"taskmanager.load-balance.mode": "tasks"}, "is TASKS already"),
        ("2.1.1", {}, "Set taskmanager.load-balance.mode: SLOTS"),
        ("1.20.5", {}, "Set cluster.evenly-spread-out-slots: true"),
        (
            "1.20.5",
            {"cluster.evenly-spread-out-slots": "true"},
            "Flink already spreads slots over TaskManagers",
        ),
        (
            "1.20.5",
            {"taskmanager.load-balance.mode": "SLOTS"},
            "Flink already spreads slots over TaskManagers",
        ),
        ("1.12.5", None, "Set cluster.evenly-spread-out-slots: true"),
        ("2.3-SNAPSHOT", {}, "Set taskmanager.load-balance.mode: TASKS"),
        ("1.20-vvr-8.0.11", {}, "Set cluster.evenly-spread-out-slots: true"),
        (None, {}, "The version of Flink is not known"),
    ],
)
def test_advice_fits_the_version_and_what_is_set(version, configuration, says):
    assert says in advice(release(version), configuration)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("32kb", 32768),
        ("32 kb", 32768),
        ("65536", 65536),
        ("1mb", 1 << 20),
        ("x", 32768),
        (None, 32768),
    ],
)
def test_sizes_of_segments_are_read_as_flink_writes_them(text, size_bytes):
    assert buffer_settings({"taskmanager.memory.segment-size": text}).segment_bytes == size_bytes


def test_buffers_of_a_channel_are_those_that_are_configured():
    settings = buffer_settings({"taskmanager.network.memory.buffers-per-channel": "4"})
    assert settings.buffers_per_channel == 4
