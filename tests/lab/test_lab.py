"""What the lab is made of, without starting it; the integration tests start it."""

from pathlib import Path

import pytest

from tests.lab.configuration import Layout, write_configuration
from tests.lab.incidents import INCIDENTS
from tests.lab.jars import GROWING_LOG, KAFKA_LOG, SOURCES, WATCHED_FILES
from tests.lab.releases import RELEASES


@pytest.mark.parametrize("version", RELEASES)
def test_every_process_has_its_own_configuration(tmp_path, version: str) -> None:
    layout, release = Layout(tmp_path, slot=1), RELEASES[version]
    write_configuration(layout, release, INCIDENTS["expired"])
    for process in ("jm", "tm1", "tm2"):
        text = (layout.configuration(process) / release.conf_file).read_text()
        assert "rest.port: 28091" in text
        assert "execution.checkpointing.timeout: 3s" in text
    assert "127.0.101.2 flink-tm-2" in layout.hosts("tm1").read_text()


def test_a_renamed_setting_goes_by_its_new_name(tmp_path) -> None:
    layout = Layout(tmp_path, slot=0)
    write_configuration(layout, RELEASES["2.3.0"], INCIDENTS["healthy"])
    text = (layout.configuration("jm") / "config.yaml").read_text()
    assert "state.backend.type: rocksdb" in text
    assert "state.backend: " not in text


@pytest.mark.parametrize("version", RELEASES)
def test_slow_storage_is_where_all_snapshots_go(tmp_path, version: str) -> None:
    layout, release = Layout(tmp_path, slot=0), RELEASES[version]
    write_configuration(layout, release, INCIDENTS["slow-storage"])
    text = (layout.configuration("tm1") / release.conf_file).read_text()
    assert (
        f"dir: slow://{layout.checkpoints}\n" in text
        and f"dir: slow://{layout.savepoints}\n" in text
    )
    assert "file://" not in text


def test_over_a_slow_network_each_taskmanager_announces_another_port_than_it_listens_on(
    tmp_path,
) -> None:
    layout = Layout(tmp_path, slot=0)
    write_configuration(layout, RELEASES["1.20.5"], INCIDENTS["slow-network"])
    ports = set()
    for number in (1, 2):
        text = (layout.configuration(f"tm{number}") / "flink-conf.yaml").read_text()
        announced, listening = layout.data_ports(number)
        assert f"data.port: {announced}\n" in text and f"data.bind-port: {listening}\n" in text
        ports |= {announced, listening}
    assert len(ports) == 4


def test_every_argument_of_an_incident_is_one_the_job_reads() -> None:
    source = "".join(one.read_text() for one in (*SOURCES, GROWING_LOG, KAFKA_LOG, WATCHED_FILES))
    for incident in INCIDENTS.values():
        read = {"set." if name.startswith("set.") else name for name in incident.arguments}
        assert [name for name in read if f'("{name}"' not in source] == []


def test_labs_stand_side_by_side() -> None:
    ports = [
        port
        for slot in range(5)
        for port in (Layout(Path(), slot).rest_port, Layout(Path(), slot).rpc_port)
    ]
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize("version", RELEASES)
def test_where_calls_are_counted_storage_is_hdfs_to_flink(tmp_path, version: str) -> None:
    layout, release = Layout(tmp_path, slot=0), RELEASES[version]
    write_configuration(layout, release, INCIDENTS["counted-small"])
    assert (
        f"dir: hdfs://lab{layout.checkpoints}\n"
        in (layout.configuration("tm1") / release.conf_file).read_text()
    )
    assert "<value>lab.CountedHdfs</value>" in (layout.calls / "core-site.xml").read_text()
