"""A real History Server over archives that a real Flink wrote: it tells of their jobs what the
archives do.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.history.archives import read_archives
from ingest.lake.store import Lake
from ingest.records import Checkpoint, Job, VertexCheckpoint
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource, MetadataSource
from tests.ingest.test_shard_collector import rows
from tests.integration.running import until
from tests.lab.configuration import MODULE_OPTIONS
from tests.lab.jars import flink_jars
from tests.lab.releases import RELEASES
from tests.lab.rest import call_or_none
from webapp.launch.home import free_port

pytestmark = pytest.mark.integration
ARCHIVES = Path(__file__).parents[1] / "fixtures" / "archives"
MAIN = "org.apache.flink.runtime.webmonitor.history.HistoryServer"


@contextmanager
def history_server(version: str, folder: Path) -> Iterator[str]:
    """Up, with all jobs of the archives read; gives its address."""
    release, port = RELEASES[version], free_port()
    settings = {
        "historyserver.archive.fs.dir": f"file://{ARCHIVES / version}",
        "historyserver.web.address": "127.0.0.1",
        "historyserver.web.port": port,
        "historyserver.web.tmpdir": folder / "web",
    }
    folder.mkdir()
    (folder / release.conf_file).write_text(
        "".join(f"{name}: {value}\n" for name, value in settings.items())
    )
    command = [
        "java",
        "-Xmx128m",
        "-XX:+UseSerialGC",
        *MODULE_OPTIONS,
        "-cp",
        f"{flink_jars(release)}/*",
        MAIN,
        "--configDir",
        str(folder),
    ]
    with (folder / "out.log").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        until(
            lambda: (
                process.poll() is not None
                or (call_or_none(f"http://127.0.0.1:{port}/jobs/overview") or {}).get("jobs")
            ),
            60,
            "the History Server's reading its archives",
            every_s=0.5,
        )
        assert process.poll() is None, (folder / "out.log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_it_tells_of_ended_jobs_what_their_archives_tell(version, tmp_path):
    at = datetime.now(UTC)
    archived = [
        record
        for part in read_archives(str(ARCHIVES / version), "c", None, at).observed
        for record in part.records
    ]
    lake = Lake(str(tmp_path / "lake"))
    with history_server(version, tmp_path / "history") as url:
        source = ClusterSource("c", history_url=url, metadata=MetadataSource(enabled=False))
        (outcome,) = collect_shard([source], {}, lake)
    assert outcome.reachable and not outcome.error and not rows(lake, "skips")
    told = {
        (row["job_id"], row["name"], row["state"], len(row["vertices"]))
        for row in rows(lake, "jobs")
    }
    assert told == {
        (one.job_id, one.name, one.state, len(one.vertices or ()))
        for one in archived
        if isinstance(one, Job)
    }
    known = {
        (one.job_id, one.checkpoint_id, one.status, one.state_bytes)
        for one in archived
        if isinstance(one, Checkpoint)
    }
    assert (
        known
        and {
            (row["job_id"], row["checkpoint_id"], row["status"], row["state_bytes"])
            for row in rows(lake, "checkpoints")
        }
        == known
    )
    parts = {
        (one.checkpoint_id, one.vertex_id) for one in archived if isinstance(one, VertexCheckpoint)
    }
    assert (
        parts
        and {(row["checkpoint_id"], row["vertex_id"]) for row in rows(lake, "vertex_checkpoints")}
        == parts
    )
