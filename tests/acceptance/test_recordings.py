"""Every shipped recording, imported through the real commands, against an independent recount."""

import gzip
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.recount import Key, recount

ROOT = Path(__file__).resolve().parents[2]
RECORDINGS = ROOT / "tests" / "fixtures" / "recordings"
NAMES = sorted(str(path.parent.relative_to(RECORDINGS)) for path in RECORDINGS.glob("*/*/rest.jsonl"))


def cluster_of(name: str) -> str:
    return name.replace("/", "-")


class Instance:
    """A Weir home of its own, driven only by its commands."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._told: dict[str | None, list[dict]] = {}
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("WEIR_", "SPARK_"))},
            "WEIR_HOME": str(home),
            "DJANGO_SETTINGS_MODULE": "webapp.config.settings",
            "SPARK_MASTER": "local[2]",
        }

    def manage(self, *arguments: str) -> str:
        if arguments[0] in ("import_recording", "run_pipeline"):
            self._told.clear()
        finished = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert finished.returncode == 0, f"{arguments}: {finished.stdout[-3000:]}\n{finished.stderr[-5000:]}"
        return finished.stdout

    def import_recording(self, directory: Path, cluster: str) -> None:
        self.manage("import_recording", str(directory), "--cluster", cluster)

    def checkpoints(self, cluster: str | None = None) -> list[dict]:
        """What the command prints, asked for once as long as nothing new came in."""
        if cluster not in self._told:
            arguments = ["--cluster", cluster] if cluster else []
            lines = self.manage("checkpoints", "--json", *arguments).splitlines()
            self._told[cluster] = [json.loads(line) for line in lines if line.strip()]
        return self._told[cluster]


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    instance = Instance(tmp_path_factory.mktemp("weir"))
    for name in NAMES:
        instance.import_recording(RECORDINGS / name, cluster_of(name))
    instance.manage("run_pipeline")
    yield instance


def milliseconds(instant: str) -> int:
    from datetime import datetime

    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def by_key(facts: list[dict]) -> dict[Key, dict]:
    keyed = {(fact["job_id"], fact["checkpoint_id"], milliseconds(fact["trigger_time"])): fact for fact in facts}
    assert len(keyed) == len(facts), "a checkpoint is there more than once"
    return keyed


@pytest.mark.parametrize("name", NAMES)
def test_every_mentioned_checkpoint_is_there_once_with_its_outcome(instance: Instance, name: str) -> None:
    expected = recount(RECORDINGS / name)
    facts = by_key(instance.checkpoints(cluster_of(name)))
    assert facts.keys() == expected.keys()
    assert {key: fact["outcome"] for key, fact in facts.items()} == {key: known.outcome for key, known in expected.items()}


@pytest.mark.parametrize("name", NAMES)
def test_sizes_and_durations_are_those_flink_reported(instance: Instance, name: str) -> None:
    facts = by_key(instance.checkpoints(cluster_of(name)))
    for key, known in recount(RECORDINGS / name).items():
        if known.rest is None or known.rest["status"] == "IN_PROGRESS":
            continue
        fact, rest = facts[key], known.rest
        assert fact["is_savepoint"] == rest["is_savepoint"], key
        assert fact["state_bytes"] == rest["state_size"], key
        assert fact["checkpointed_bytes"] == rest.get("checkpointed_size"), key
        assert fact["end_to_end_ms"] == rest["end_to_end_duration"], key
        assert (fact["subtasks"], fact["acknowledged"]) == (rest["num_subtasks"], rest["num_acknowledged_subtasks"]), key


@pytest.mark.parametrize("name", NAMES)
def test_phases_are_the_largest_over_the_subtasks(instance: Instance, name: str) -> None:
    facts = by_key(instance.checkpoints(cluster_of(name)))
    checked = 0
    for key, known in recount(RECORDINGS / name).items():
        done = [subtask for subtasks in known.subtasks.values() for subtask in subtasks if subtask["status"] == "completed"]
        if not done or known.rest is None or known.rest["status"] != "COMPLETED" or len(done) != known.rest["num_subtasks"]:
            continue
        fact = facts[key]
        assert fact["start_delay_ms"] == max(subtask["start_delay"] for subtask in done), key
        assert fact["alignment_ms"] == max(subtask["alignment"]["duration"] for subtask in done), key
        assert fact["sync_ms"] == max(subtask["checkpoint"]["sync"] for subtask in done), key
        assert fact["async_ms"] == max(subtask["checkpoint"]["async"] for subtask in done), key
        assert fact["slowest_end_to_end_ms"] == max(subtask["end_to_end_duration"] for subtask in done), key
        checked += 1
    assert checked


def test_each_decline_says_which_subtask_where_and_why(instance: Instance) -> None:
    expected = {key: known for key, known in recount(RECORDINGS / "1.20.5/E").items() if known.declines}
    assert len(expected) == 7
    facts = by_key(instance.checkpoints("1.20.5-E"))
    for key, known in expected.items():
        (said,) = known.declines
        (decline,) = facts[key]["declines"]
        assert decline["execution_id"] == said["execution"]
        _graph, vertex, subtask, attempt = said["execution"].split("_")
        assert (decline["vertex_id"], decline["subtask"], decline["attempt"]) == (vertex, int(subtask), int(attempt))
        assert decline["vertex_name"] == "enrich"
        assert (decline["container"], decline["host"]) == (said["container"], said["host"])
        assert decline["reason"] == "CHECKPOINT_ASYNC_EXCEPTION"
        assert "could not flush to checkpoint storage" in decline["exception"]
        assert decline["log_line"].startswith(f"Decline checkpoint {key[1]} by task")


def test_each_expiry_says_who_had_not_acknowledged_and_has_its_late_messages(instance: Instance) -> None:
    expected = {key: known for key, known in recount(RECORDINGS / "1.20.5/F").items() if known.expired}
    assert len(expected) == 9
    facts = by_key(instance.checkpoints("1.20.5-F"))
    late = 0
    for key, known in expected.items():
        fact = facts[key]
        assert fact["reason"] == "CHECKPOINT_EXPIRED"
        missing = sum(entry["count"] for entry in fact["not_acknowledged"])
        assert missing == known.rest["num_subtasks"] - known.rest["num_acknowledged_subtasks"]
        assert "slow-enrich" in {entry["vertex_name"] for entry in fact["not_acknowledged"]}
        assert fact["late_message_count"] == len(known.late)
        assert all(message["late_ms"] > 0 for message in fact["late_messages"] or ())
        late += len(known.late)
    assert late == 8


def comparable(facts: list[dict]) -> list[dict]:
    return sorted(facts, key=lambda fact: (fact["cluster"], fact["job_id"], fact["checkpoint_id"], fact["trigger_time"]))


def test_importing_again_in_another_order_and_in_pieces_leaves_the_same_rows(instance: Instance, tmp_path: Path) -> None:
    names = ["1.20.5/F", "1.20.5/E", "1.12.5/G"]
    other = Instance(tmp_path / "home")
    for name in names:
        whole = RECORDINGS / name
        late, early = tmp_path / f"late-{cluster_of(name)}", tmp_path / f"early-{cluster_of(name)}"
        split(whole, early, late)
        other.import_recording(late, cluster_of(name))
    other.manage("run_pipeline")
    for name in names:
        other.import_recording(tmp_path / f"early-{cluster_of(name)}", cluster_of(name))
        other.import_recording(RECORDINGS / name, cluster_of(name))
    other.manage("run_pipeline")
    for name in names:
        assert comparable(other.checkpoints(cluster_of(name))) == comparable(instance.checkpoints(cluster_of(name)))


def split(whole: Path, early: Path, late: Path) -> None:
    """Two overlapping parts of one recording; the later part has its logs as numbered gzip archives."""
    lines = (whole / "rest.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    for part, kept in ((early, lines[: len(lines) * 2 // 3]), (late, lines[len(lines) // 3 :])):
        (part / "logs").mkdir(parents=True)
        (part / "rest.jsonl").write_text("".join(kept), encoding="utf-8")
        shutil.copy(whole / "scenario.json", part)
    for log in (whole / "logs").iterdir():
        text = log.read_bytes().splitlines(keepends=True)
        (early / "logs" / log.name).write_bytes(b"".join(text[: len(text) * 2 // 3]))
        (late / "logs" / f"{log.name}.3.gz").write_bytes(gzip.compress(log.read_bytes()))
