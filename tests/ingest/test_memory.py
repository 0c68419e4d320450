"""What a hostile answer or recording may cost: a bounded piece of memory, its own entry, and nobody
else's turn.
"""

import gzip
import json
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ingest import json_bounds
from ingest.flink_rest.assembly import MAX_BAD_ENTRIES
from ingest.flink_rest.limits import RequestLimits
from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource
from tests.ingest.flink_rest.serving import Answer, Reply, recorded, told
from tests.ingest.recorded import answers
from tests.ingest.test_shard_collector import rows, serving
from tests.selections import mostly_long

AT = datetime(2026, 11, 21, 4, 5, tzinfo=UTC)
E = "1.20.5/E"
JOB = "26eb676de8b3e133f9078fabe3704eb6"
PIECE = b"[" + b"[]," * 3_145_727 + b"[]]"  # 3 M lists in 9 MiB
LISTS = b"[" + b"[]," * 20_999_999 + b"[]]"  # what took 6.3 GB and five minutes
MOST_MIB = 1_200
# Of /proc: ru_maxrss would count the memory that the parent had before exec, here that of a long
# test run.
PEAK = (
    "print(next(int(line.split()[1]) // 1024 for line in open('/proc/self/status') if "
    "line.startswith('VmHWM')))"
)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(str(tmp_path / "lake"))


def peak_mib(statement: str) -> int:
    """Of a process of its own that does this."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}\n{PEAK}"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout.split()[-1])


def collecting(url: str, root: Path) -> str:
    return (
        "from datetime import UTC, datetime\nfrom ingest.shard_collector import "
        "collect_shard\nfrom ingest.lake.store import Lake\n"
        "from ingest.sources import ClusterSource\n"
        f"outcomes = collect_shard([ClusterSource('c', {url!r})], {{}}, "
        f"Lake({str(root)!r}))\nprint(outcomes[0].error)"
    )


@pytest.mark.parametrize(
    ("path", "packed"),
    mostly_long(
        [
            (f"/jobs/{JOB}", True),
            ("/jobs/overview", False),
            (f"/jobs/{JOB}/checkpoints", False),
            ("/taskmanagers", True),
        ],
        spread=True,
    ),
)
def test_an_answer_of_21_million_lists_is_not_decoded(
    tmp_path: Path, path: str, packed: bool
) -> None:
    known = recorded(E)
    bomb = (
        Reply(gzip.compress(LISTS, 1), headers={"content-encoding": "gzip"})
        if packed
        else Reply(LISTS)
    )
    with serving(lambda asked, headers: bomb if asked == path else known(asked, headers)) as (
        server,
    ):
        assert peak_mib(collecting(server.url, tmp_path / "lake")) < MOST_MIB
    said = [
        row for row in rows(Lake(str(tmp_path / "lake")), "skips") if row["reason"] == "too_large"
    ]
    assert "at most 3,000,000 are read" in said[0]["detail"]


@pytest.mark.long
def test_many_answers_below_the_bound_of_one_do_not_add_up_without_end(tmp_path: Path) -> None:
    known = recorded(E)
    inner = b'{"subtasks":[' + b"[]," * 1_400_000 + b"[]]}"

    def answer(path: str, headers: dict[str, str]) -> Reply:
        return (
            Reply(inner)
            if "/vertices/" in path or "/subtasks/" in path or "details" in path
            else known(path, headers)
        )

    with serving(answer) as (server,):
        assert peak_mib(collecting(server.url, tmp_path / "lake")) < 2 * MOST_MIB
    assert any(
        row["reason"] == "over_budget" for row in rows(Lake(str(tmp_path / "lake")), "skips")
    )


@pytest.mark.long
def test_a_recording_of_lists_is_read_in_bounded_memory(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    folder.mkdir()
    with (folder / "rest.jsonl").open("wb") as out:
        out.writelines(
            b'{"ts":1795234333,"path":"/jobs/%s/plan","status":200,"body":%s}\n'
            % (JOB.encode(), LISTS)
            for _ in range(2)
        )
        inner = b"[" + b"[]," * 1_200_000 + b"[]]"
        for number in range(10):
            path = b"/jobs/%032x/plan" % number
            out.write(
                b'{"ts":1795234333,"path":"%s","status":200,"body":{"plan":%s}}\n' % (path, inner)
            )
    statement = (
        "from pathlib import Path\nfrom ingest.lake.store import Lake\nfrom "
        "ingest.recordings.importer import import_recording\n"
        f"import_recording(Path({str(folder)!r}), 'c', Lake({str(tmp_path / 'lake')!r}))"
    )
    assert peak_mib(statement) < MOST_MIB
    assert any(
        "at most 3,000,000" in row["detail"] for row in rows(Lake(str(tmp_path / "lake")), "skips")
    )


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("depth", [900, 200_000])
def test_nesting_without_end_costs_its_own_answer(lake: Lake, opening: bytes, depth: int) -> None:
    closing = b"]" if opening == b"[" else b"}"
    deep = Reply(opening * depth + b"1" + closing * depth)
    known = recorded(E)
    with serving(
        lambda path, headers: (
            deep if path.endswith(("/exceptions", "/config")) else known(path, headers)
        )
    ) as (server,):
        (outcome,) = collect_shard([ClusterSource("c", server.url)], {}, lake, at=lambda: AT)
    assert outcome.reachable
    assert {row["job_id"] for row in rows(lake, "checkpoints")} == {JOB}


@pytest.mark.parametrize("name", ["jobs", "taskmanagers"])
def test_a_list_of_bad_entries_is_given_up_with_a_reason(lake: Lake, name: str) -> None:
    path = "/jobs/overview" if name == "jobs" else "/taskmanagers"
    with serving(recorded(E, **{path: told({name: [{"x": 1}] * 50_000})})) as (server,):
        collect_shard([ClusterSource("c", server.url)], {}, lake, at=lambda: AT)
    about = [row["detail"] for row in rows(lake, "skips") if row["subject"].startswith(path)]
    assert len(about) == MAX_BAD_ENTRIES + 1
    assert "the others, from" in about[-1] or any("the others, from" in detail for detail in about)


@pytest.mark.long
def test_other_clusters_of_the_shard_are_read_beside_a_hostile_one(lake: Lake) -> None:
    # an answer like those of the other servers
    hostile: Answer = lambda path, headers: Reply(LISTS)  # noqa: E731
    # likewise
    slow: Answer = lambda path, headers: Reply(b"[" * 1000, pieces=1000, pause_s=0.5)  # noqa: E731
    with serving(hostile, slow, recorded(E)) as servers:
        sources = [
            ClusterSource(f"c{number}", server.url, request_timeout_s=3)
            for number, server in enumerate(servers)
        ]
        outcomes = collect_shard(
            sources, {}, lake, at=lambda: AT, limits=RequestLimits(cycle_timeout_s=20)
        )
    assert [outcome.reachable for outcome in outcomes] == [False, False, True]
    assert {row["cluster"] for row in rows(lake, "checkpoints")} == {"c2"}


def test_a_history_server_that_answers_slowly_is_left_after_its_time(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.flink_rest.history_server.SECONDS_A_JOB", 2.0)
    monkeypatch.setattr("ingest.flink_rest.history_server.SECONDS_A_CYCLE", 5.0)
    overview = next(
        answer.body
        for answer in answers(E)
        if answer.path == "/jobs/overview" and answer.body["jobs"]
    )
    jobs = [
        {
            **overview["jobs"][0],
            "jid": f"{number:032x}",
            "state": "FINISHED",
            "end-time": 1_795_234_333_000 + number,
        }
        for number in range(20)
    ]
    hanging = Reply(hang=True)
    began = time.monotonic()
    with serving(
        lambda path, headers: told({"jobs": jobs}) if path == "/jobs/overview" else hanging
    ) as (server,):
        source = ClusterSource("c", history_url=server.url, request_timeout_s=60)
        (outcome,) = collect_shard([source], {}, lake, at=lambda: AT)
        assert time.monotonic() - began < 30
        known = outcome.cursor["history"]["jobs"]
    assert 0 < len(known) < 20
    assert any("were not delivered within" in row["detail"] for row in rows(lake, "skips"))


def vertices(count: int) -> list[dict[str, Any]]:
    vertex = next(answer.body for answer in answers(E) if answer.path == f"/jobs/{JOB}")[
        "vertices"
    ][0]
    return [
        {**vertex, "id": f"{number:032x}", "name": f"operator {number}" * 10}
        for number in range(count)
    ]


def test_the_largest_true_answers_are_read() -> None:
    job = next(answer.body for answer in answers(E) if answer.path == f"/jobs/{JOB}")
    node = job["plan"]["nodes"][0]
    inputs = [
        {"num": 0, "id": f"{0:032x}", "ship_strategy": "HASH", "exchange": "pipelined_bounded"}
    ] * 2
    nodes = [
        {**node, "id": f"{number:032x}", "inputs": inputs, "description": "a" * 2_000}
        for number in range(8_000)
    ]
    of_8000_vertices = {**job, "vertices": vertices(8_000), "plan": {**job["plan"], "nodes": nodes}}
    subtasks = next(
        answer.body
        for answer in answers(E)
        if "/vertices/" in answer.path and "subtasks" in answer.body
    )
    of_5000_subtasks = {**subtasks, "subtasks": [subtasks["subtasks"][0]] * 5_000}
    managers = next(answer.body for answer in answers(E) if answer.path == "/taskmanagers")
    for body in (
        of_8000_vertices,
        of_5000_subtasks,
        {"taskmanagers": managers["taskmanagers"][:1] * 5_000},
    ):
        content = json.dumps(body).encode()
        assert json_bounds.values_in(content) < json_bounds.MAX_VALUES / 3
        assert json_bounds.decoded(content)[0] == body
