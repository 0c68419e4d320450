"""A real NameNode: its JMX by HTTP from collecting to the rule, audits of checkpoints that lie in
its HDFS, and a clean-up there.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from fsspec.config import conf

from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from tests import played_trees
from tests.ingest.test_shard_collector import rows
from tests.integration.running import until
from tests.lab.namenode import HAS_WEBHDFS, SERVER_JARS, Hdfs
from tests.spark_jobs.storage.audits import Audited, Auditor
from tests.webapp.builders import cluster, job, person
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster
from webapp.storage.namenode_findings import KEY
from webapp.work.models import DueWork
from webapp.work.perform import perform

pytestmark = [
    pytest.mark.integration,
    pytest.mark.long,
    pytest.mark.skipif(not SERVER_JARS, reason="needs HADOOP_SERVER_JARS (CONTRIBUTING.md, Tests)"),
]
CLIENTS, CALL_FOR_S, INTERVAL_S = 1_500, 25, 2
CALLS_OF_THE_DATANODE = 2
"""At most at once: its heartbeat and a report."""
PLAYED = "2.3.0/counted-merged"
URI = played_trees.root_uri(PLAYED)
PATH = "/" + URI.removeprefix("hdfs://").partition("/")[2]
TOP = PATH.split("/")[1]
(JOB_ID,) = {file.path.split("/")[0] for file in played_trees.listed(PLAYED)}
needs_webhdfs = pytest.mark.skipif(
    not HAS_WEBHDFS, reason="needs Jersey 1 (CONTRIBUTING.md, Tests)"
)
VERDICTS = ("live", "orphan", "recent", "kept")
LEFT_BEHIND = "5f0c8a52-3a0e-4f52-9a3e-1f6f4d1c7a10"
"""A file that no checkpoint refers to, as a TaskManager leaves it that dies before its checkpoint
completes.
"""


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """With one handler, so that calls can be made to wait."""
    with (
        Hdfs(tmp_path_factory.mktemp("hdfs"), handlers=1) as running,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("FSSPEC_WEBHDFS_USER", running.user)
        patch.setitem(conf, "webhdfs", {"user": running.user})
        yield running


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> dict[str, timedelta]:
    """``ahead``: how much later than now it is for Weir, for which readings of ten minutes belong
    together.
    """
    ahead = {"ahead": timedelta()}
    monkeypatch.setattr("django.utils.timezone.now", lambda: datetime.now(UTC) + ahead["ahead"])
    return ahead


@pytest.fixture
def judged(
    hdfs: Hdfs, home: Path, clock: dict[str, timedelta], db: None
) -> Callable[[int], list[Finding]]:
    """What is open after so many readings of intervals of metrics that follow one another."""
    cluster = Cluster(name="nn", namenode_jmx_url=f"{hdfs.url}/jmx", log_globs=["/nowhere/*.log"])
    cluster.full_clean()
    cluster.save()
    DueWork.objects.ensure({KEY: 60}, datetime.now(UTC))

    def judge(readings: int) -> list[Finding]:
        for _ in range(readings):
            time.sleep(INTERVAL_S)
            [outcome] = collect_shard(
                [cluster.source()],
                {},
                Lake(str(home / "lake")),
                at=lambda: datetime.now(UTC) + clock["ahead"],
            )
            assert not outcome.skips
        perform(KEY, even_if_not_due=True)
        return list(Finding.objects.open().filter(rule="namenode.queue_time"))

    return judge


def test_it_is_overloaded_while_more_clients_call_than_it_can_serve_and_only_then(
    hdfs, judged, home, clock
):
    assert judged(3) == []
    clock["ahead"] = timedelta(hours=1)
    load = hdfs.called_by(CLIENTS, CALL_FOR_S)
    until(lambda: hdfs.calls_queued() > CLIENTS / 2, 60, "waiting of calls in the queue")
    [finding] = judged(3)
    printed, _ = load.communicate(timeout=120)
    made, slowest_ms = map(int, printed.split())
    by_name = {one["name"]: one["value"] for one in finding.evidence}
    assert (finding.cluster, finding.severity) == (
        "nn",
        "critical" if by_name["wait in the queue"] >= 1_000 else "warning",
    )
    assert 100 <= by_name["wait in the queue"] <= slowest_ms
    assert CLIENTS / 2 < by_name["calls in the queue"] <= CLIENTS + CALLS_OF_THE_DATANODE
    assert "Most calls: mkdirs" in finding.cause
    clock["ahead"] = timedelta(hours=2)
    assert judged(4) == []
    samples = sorted(rows(Lake(str(home / "lake")), "namenode_samples"), key=lambda row: row["ts"])
    before, after = (
        {one["name"]: one["calls"] for one in row["operations"]}
        for row in (samples[0], samples[-1])
    )
    assert after["mkdirs"] - before.get("mkdirs", 0) == made


@pytest.fixture(scope="module")
def tree(hdfs: Hdfs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A played checkpoint directory and one orphan, here and at the same path in HDFS."""
    here = tmp_path_factory.mktemp("tree") / "here"
    tree = Path(f"{here}{PATH}")
    played_trees.lay_out(PLAYED, tree)
    orphan = tree / JOB_ID / "shared" / LEFT_BEHIND
    orphan.write_bytes(b"x" * 1_000)
    hdfs.shell("-put", "-p", f"{here}/{TOP}", "/")
    return tree


@pytest.fixture(scope="module")
def audits(
    hdfs: Hdfs, tree: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Audited]]:
    """By where the tree lies: audited as the job ended, and four days later."""
    folder = tmp_path_factory.mktemp("audits")
    copy = folder / "copy"
    (folder / "ls-R.txt").write_text(hdfs.shell("-ls", "-R", f"/{TOP}"))
    hdfs.image(folder / "image.tsv")
    hdfs.shell("-get", "-p", f"/{TOP}", str(copy))
    read_back = {"uri": URI, "read_at": f"{copy}{PATH.removeprefix(f'/{TOP}')}"}
    roots = {
        "local files": {"uri": URI, "read_at": str(tree)},
        "ls-R.txt": read_back | {"inventory": str(folder / "ls-R.txt")},
        "image.tsv": read_back | {"inventory": str(folder / "image.tsv")},
    }
    if HAS_WEBHDFS:
        roots["webhdfs"] = {"uri": URI, "read_at": f"{hdfs.webhdfs}{PATH}"}
    now = datetime.now(UTC)
    jobs = [
        {
            "cluster": "lab",
            "job_id": JOB_ID,
            "name": "lab-counted-merged",
            "terminal": True,
            "seen": True,
        }
    ]
    return {name: audited(folder, name, root, jobs, now) for name, root in roots.items()}


def audited(
    folder: Path, name: str, root: Mapping[str, Any], jobs: list[dict[str, Any]], now: datetime
) -> list[Audited]:
    (folder / f"audits-{name}").mkdir()
    auditor = Auditor(folder / f"audits-{name}")
    of = {
        "age_guard_h": 72,
        "jobs": jobs,
        "roots": [root | {"clusters": ["lab"], "attested": True}],
    }
    times = (now + timedelta(minutes=1), now + timedelta(days=4))
    return [
        auditor.audit([of | {"audit_id": f"run-{number}", "as_of": at}])
        for number, at in enumerate(times, 1)
    ]


@pytest.mark.parametrize(
    "listing", ["ls-R.txt", "image.tsv", pytest.param("webhdfs", marks=needs_webhdfs)]
)
def test_checkpoints_in_its_hdfs_are_judged_as_the_same_files_here_are(audits, listing):
    for number, (in_hdfs, here) in enumerate(
        zip(audits[listing], audits["local files"], strict=True), 1
    ):
        run = f"run-{number}"
        assert {one: in_hdfs.paths(run, one) for one in VERDICTS} == {
            one: here.paths(run, one) for one in VERDICTS
        }
        for table in ("storage_checkpoint", "storage_reference"):
            assert rows_of(in_hdfs, table, run) == rows_of(here, table, run) != []
    first, last = audits[listing]
    assert {Path(path).name for path in first.paths("run-1", "recent")} == {LEFT_BEHIND}
    assert {Path(path).name for path in last.paths("run-2", "orphan")} == {LEFT_BEHIND}
    assert len(last.paths("run-2", "live")) == 76


def rows_of(of: Audited, table: str, run: str) -> list[str]:
    return sorted(
        str({name: value for name, value in row.items() if not isinstance(value, datetime)})
        for row in of.rows(table, run)
    )


@needs_webhdfs
@pytest.mark.django_db(transaction=True)
def test_an_orphan_goes_to_quarantine_and_is_purged_by_the_namenode_and_nothing_else_is(
    home, tmp_path_factory, monkeypatch
):
    """In an HDFS of its own: the other's namespace is read-only since its image was written down."""
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    with Hdfs(tmp_path_factory.mktemp("cleaned")) as hdfs:
        monkeypatch.setenv("FSSPEC_WEBHDFS_USER", hdfs.user)
        monkeypatch.setitem(conf, "webhdfs", {"user": hdfs.user})
        clean_up(hdfs, home)


def clean_up(hdfs: Hdfs, home: Path) -> None:
    now = timezone.now()
    here = home / "here"
    local = Path(f"{here}{PATH}")
    played_trees.lay_out(PLAYED, local)
    orphan = local / JOB_ID / "shared" / LEFT_BEHIND
    orphan.write_bytes(b"x" * 1_000)
    for path in local.rglob("*"):
        if path.is_file():
            os.utime(path, ((now - timedelta(days=60)).timestamp(),) * 2)
    hdfs.shell("-put", "-p", f"{here}/{TOP}", "/")
    (home / "ls-R.txt").write_text(before := hdfs.shell("-ls", "-R", f"/{TOP}"))
    job(
        cluster(at=now + timedelta(days=1)).name,
        at=now,
        job_id=JOB_ID,
        state="CANCELED",
        terminal=True,
    )
    told(
        "add_storage_root",
        URI,
        "--read-at",
        f"{hdfs.webhdfs}{PATH}",
        "--attest",
        "olga",
        "--cluster",
        "prod-eu",
    )
    told(
        "audit_storage",
        URI,
        "--listing",
        str(home / "ls-R.txt"),
        "--as-of",
        (now - timedelta(days=30)).isoformat(),
    )
    (audit,) = [line for line in told("audit_storage", "--json") if "cleanable" in line]
    assert (audit["cleanable"], audit["orphan"]["files"], audit["orphan"]["bytes"]) == (
        True,
        1,
        1_000,
    ), audit
    head, *files = told("plan_cleanup", "--json")
    assert [Path(file["path"]).name for file in files] == [LEFT_BEHIND]
    user = person("ada")
    user.is_superuser = True
    user.save()
    orders.approve(CleanupPlan.objects.get(), user, now)
    (applied,) = told("apply_cleanup", head["plan"], "--apply", "--json")
    assert applied["apply"]["quarantined"] == 1, applied
    assert files_of(hdfs.shell("-ls", "-R", PATH)) == files_of(before) - {
        f"{PATH}/{JOB_ID}/shared/{LEFT_BEHIND}"
    }
    quarantine = f"{PATH}.weir-quarantine"
    assert [Path(path).name for path in files_of(hdfs.shell("-ls", "-R", quarantine))] == [
        LEFT_BEHIND
    ]
    CleanupPlan.objects.update(purge_at=timezone.now())
    (purged,) = told("apply_cleanup", head["plan"], "--purge", "--json")
    assert purged["purge"]["purged"] == 1, purged
    assert not files_of(hdfs.shell("-ls", "-R", quarantine))


def told(*arguments: str) -> list[Any]:
    """What a command prints, each line of JSON."""
    out = StringIO()
    call_command(*arguments, stdout=out)
    return [json.loads(line) for line in out.getvalue().splitlines() if line.startswith("{")]


def files_of(ls: str) -> set[str]:
    """The paths of ``hdfs dfs -ls -R`` that are files."""
    return {line.split(maxsplit=7)[7] for line in ls.splitlines() if line.startswith("-")}
