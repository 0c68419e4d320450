"""Complete runs become rows: in order, once, and never older over newer."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from spark_jobs.manifest import BadManifest
from spark_jobs.serving import SERVING_TABLES
from tests.webapp.pipeline.runs import AT, fact, job, row, write_run
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import Cluster, JobCurrent, LogEvent
from webapp.pipeline import loader
from webapp.work import run_files
from webapp.work.lease import Lease, LeaseLost
from webapp.work.models import DueWork, Manifest

Load = Callable[..., dict[str, int]]
LATER = AT + timedelta(minutes=1)


def outcomes() -> dict[int, str]:
    return dict(CheckpointFact.objects.values_list("checkpoint_id", "outcome"))


def test_rows_arrive_with_every_column(load: Load) -> None:
    load(
        {
            "checkpoint_fact": [
                fact(
                    1,
                    state_bytes=7,
                    uploaded_ratio=0.5,
                    declines='[{"host": "h"}]',
                    end_time=AT,
                    reason="X",
                )
            ]
        }
    )
    stored = CheckpointFact.objects.get()
    assert (
        stored.state_bytes,
        stored.uploaded_ratio,
        stored.declines,
        stored.end_time,
        stored.reason,
    ) == (
        7,
        0.5,
        [{"host": "h"}],
        AT,
        "X",
    )


def test_loading_the_same_rows_again_leaves_the_same_rows(load: Load) -> None:
    rows = {"checkpoint_fact": [fact(n) for n in range(5)], "job_current": [job()]}
    load(rows)
    before = list(CheckpointFact.objects.values_list())
    load(rows)
    assert list(CheckpointFact.objects.values_list()) == before
    assert JobCurrent.objects.count() == 1


def test_a_settled_outcome_is_never_replaced_by_one_in_progress(load: Load) -> None:
    load({"checkpoint_fact": [fact(1, outcome="declined")]})
    load({"checkpoint_fact": [fact(1, outcome="in_progress", final=False, as_of=LATER)]})
    assert outcomes() == {1: "declined"}


def test_a_settled_outcome_replaces_one_in_progress_even_if_it_was_observed_earlier(
    load: Load,
) -> None:
    load({"checkpoint_fact": [fact(1, outcome="in_progress", final=False, as_of=LATER)]})
    load({"checkpoint_fact": [fact(1, outcome="completed", as_of=AT)]})
    assert outcomes() == {1: "completed"}


def test_a_newer_row_is_never_replaced_by_an_older_one(load: Load) -> None:
    load({"job_current": [job(state="FAILED", as_of=LATER)]})
    load({"job_current": [job(state="RUNNING", as_of=AT)]})
    assert JobCurrent.objects.get().state == "FAILED"


def test_a_row_of_the_same_age_is_replaced_so_that_better_rules_reach_it(load: Load) -> None:
    load({"checkpoint_fact": [fact(1, outcome="failed")]})
    assert load({"checkpoint_fact": [fact(1, outcome="declined")]}) == {"checkpoint_fact": 1}
    assert outcomes() == {1: "declined"}


def test_what_did_not_change_is_not_counted_as_changed(load: Load) -> None:
    load({"job_current": [job(as_of=LATER)]})
    assert load({"job_current": [job(as_of=AT)]}) == {"job_current": 0}


def test_the_fleet_order_is_made_while_loading(load: Load) -> None:
    load(
        {
            "job_current": [
                job("a", state="FAILED"),
                job("b", recent_total=10, recent_failed=5),
                job("c"),
            ]
        }
    )
    assert [row.job_id for row in JobCurrent.objects.order_by("-trouble")] == ["a", "b", "c"]


def test_clusters_that_only_the_lake_knows_are_registered_as_recordings(load: Load) -> None:
    load({"job_current": [job(cluster="from-afar")]})
    assert Cluster.objects.get().visibility == "recording"


def test_a_gap_is_refused_and_says_where(lease: Lease, load: Load, tmp_path: Path) -> None:
    load({})
    path = write_run(tmp_path / "late", {}, from_={"checkpoints": 5}, to={"checkpoints": 6})
    with pytest.raises(
        loader.OutOfOrder,
        match="starts at commits checkpoints 5, but what is loaded ends at checkpoints 1",
    ):
        loader.accept(run_files.read_manifest(path), path, None, lease)


def test_an_overlap_is_refused(lease: Lease, load: Load, tmp_path: Path) -> None:
    load({})
    path = write_run(tmp_path / "again", {}, to={"checkpoints": 1})
    with pytest.raises(loader.OutOfOrder):
        loader.accept(run_files.read_manifest(path), path, None, lease)


def test_a_run_killed_while_loading_is_loaded_to_the_end_later(
    lease: Lease, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_run(
        tmp_path / "r", {"checkpoint_fact": [fact(n) for n in range(30)]}, to={"checkpoints": 1}
    )
    manifest = run_files.read_manifest(path)
    accepted = loader.accept(manifest, path, None, lease)
    monkeypatch.setattr(run_files, "ROWS_PER_BATCH", 10)
    seen = 0

    def upsert_twice(*args: Any) -> int:
        nonlocal seen
        seen += 1
        if seen == 3:
            raise KeyboardInterrupt
        return original(*args)

    original = loader.upsert
    monkeypatch.setattr(loader, "upsert", upsert_twice)
    with pytest.raises(KeyboardInterrupt):
        loader.load(accepted, manifest, lease, print)
    assert CheckpointFact.objects.count() == 20
    assert Manifest.objects.get().state == "written"
    monkeypatch.undo()
    loader.load(loader.accept(manifest, path, None, lease), manifest, lease, print)
    assert CheckpointFact.objects.count() == 30
    assert Manifest.objects.get().state == "loaded"


def test_an_overtaken_holder_writes_nothing_more(lease: Lease, tmp_path: Path) -> None:
    path = write_run(tmp_path / "r", {"checkpoint_fact": [fact(1)]}, to={"checkpoints": 1})
    manifest = run_files.read_manifest(path)
    accepted = loader.accept(manifest, path, None, lease)
    assert DueWork.objects.claim(
        "spark/cycle", timezone.now() + timedelta(hours=1), even_if_not_due=True
    )
    with pytest.raises(LeaseLost):
        loader.load(accepted, manifest, lease, print)
    assert not CheckpointFact.objects.exists()


def test_hostile_texts_are_stored_as_far_as_a_database_can(load: Load) -> None:
    event = row(
        "log_event",
        job_id="j",
        message="nul \x00 in a log",
        fields='{"a": "\\u0000 \\ud800"}',
        process="p" * 5000,
        level="L" * 99,
    )
    load({"log_event": [event]})
    stored = LogEvent.objects.get()
    assert stored.message == "nul \ufffd in a log"
    assert stored.fields == {"a": "\ufffd \ufffd"}
    assert len(stored.process) == 300
    assert stored.level is not None
    assert len(stored.level) == 16


def test_long_keys_that_differ_only_at_their_end_stay_two_rows(load: Load) -> None:
    rows = [row("log_event", process="p" * 5000 + end) for end in "ab"]
    load({"log_event": rows})
    load({"log_event": rows})
    assert LogEvent.objects.count() == 2


def test_numbers_that_are_none_are_unknown(load: Load) -> None:
    ratios = {1: float("nan"), 2: float("inf")}
    load({"checkpoint_fact": [fact(number, uploaded_ratio=of) for number, of in ratios.items()]})
    stored = CheckpointFact.objects.values_list("uploaded_ratio", flat=True)
    assert list(stored) == [None, None]


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.write_text("{"), "format 1"),
        (
            lambda path: path.write_text(path.read_text().replace('"format": 1', '"format": 9')),
            "format 9",
        ),
        (
            lambda path: path.write_text(
                path.read_text().replace("tables/checkpoint_fact", "../../etc")
            ),
            "outside its run",
        ),
        (
            lambda path: path.write_text(
                path.read_text().replace('"checkpoint_fact":', '"passwords":')
            ),
            "passwords",
        ),
        (lambda path: path.unlink(), "no manifest"),
    ],
)
def test_a_manifest_that_cannot_be_trusted_is_refused(
    tmp_path: Path, spoil: Callable[[Path], object], says: str
) -> None:
    path = write_run(tmp_path / "r", {"checkpoint_fact": [fact(1)]}, to={"checkpoints": 1})
    spoil(Path(path))
    with pytest.raises(BadManifest, match=says):
        run_files.read_manifest(path)


def test_a_file_that_lost_rows_is_refused(load: Load) -> None:
    with pytest.raises(BadManifest, match="has 1 rows, its manifest says 2"):
        load({"checkpoint_fact": [fact(1)]}, rows_said=2)


def test_ten_thousand_rows_take_few_queries(load: Load, django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(100):
        load(
            {
                "checkpoint_fact": [
                    fact(n, declines="[]", exception="e" * 500) for n in range(10_000)
                ]
            }
        )
    assert CheckpointFact.objects.count() == 10_000


def test_a_key_that_comes_twice_in_one_run_keeps_its_newest_row(load: Load) -> None:
    load({"job_current": [job(state="FAILED", as_of=LATER), job(state="RUNNING", as_of=AT)]})
    assert JobCurrent.objects.get().state == "FAILED"


def test_a_row_whose_key_turned_out_to_be_another_is_removed(load: Load) -> None:
    load({"checkpoint_fact": [fact(1), fact(2)]})
    taken_back = {name: fact(1)[name] for name in SERVING_TABLES["checkpoint_fact"].key}
    load(
        {"checkpoint_fact": [fact(1, trigger_time=LATER)]},
        retracted={"checkpoint_fact": [taken_back]},
    )
    assert list(
        CheckpointFact.objects.order_by("checkpoint_id").values_list(
            "checkpoint_id", "trigger_time"
        )
    ) == [(1, LATER), (2, AT)]
