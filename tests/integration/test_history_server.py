"""A real History Server over archives that a real Flink wrote: what Weir reads of it is what they
hold.
"""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ingest.lake.store import Lake
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


def archived(version: str) -> dict[str, Any]:
    """The documents of the archives by their paths."""
    return {
        document["path"]: json.loads(document["json"])
        for file in (ARCHIVES / version).rglob("*")
        if file.is_file() and re.fullmatch("[0-9a-f]{32}", file.name)
        for document in json.loads(file.read_bytes()).get("archive", ())
    }


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_it_tells_of_ended_jobs_what_their_archives_tell(version, tmp_path):
    documents = archived(version)
    jobs = {
        path.removeprefix("/jobs/"): document
        for path, document in documents.items()
        if re.fullmatch("/jobs/[0-9a-f]{32}", path)
    }
    lake = Lake(str(tmp_path / "lake"))
    with history_server(version, tmp_path / "history") as url:
        source = ClusterSource("c", history_url=url, metadata=MetadataSource(enabled=False))
        (outcome,) = collect_shard([source], {}, lake)
    assert outcome.reachable and not outcome.error and not rows(lake, "skips")
    assert jobs and {
        (row["job_id"], row["name"], row["state"], len(row["vertices"]))
        for row in rows(lake, "jobs")
    } == {(job_id, job["name"], job["state"], len(job["vertices"])) for job_id, job in jobs.items()}
    known = {
        (job_id, one["id"], one["status"])
        for job_id in jobs
        for one in documents[f"/jobs/{job_id}/checkpoints"]["history"]
    }
    assert known and known <= {
        (row["job_id"], row["checkpoint_id"], row["status"]) for row in rows(lake, "checkpoints")
    }
    assert rows(lake, "vertex_checkpoints")
