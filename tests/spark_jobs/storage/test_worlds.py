"""Thousands of random worlds, judged in one run and held against what is really true in each of
them.
"""

import json
import re
from collections import Counter
from datetime import timedelta

import pytest

from ingest.storage.layout import CANDIDATES
from spark_jobs.storage_words import DOUBTS, KEPT, KINDS, ORPHAN, REASONS, RETAINED_WASTE
from tests.attacks.scale import examples
from tests.spark_jobs.storage.judged_worlds import Judged, Said, judged_worlds
from tests.spark_jobs.storage.worlds import (
    FAILURES,
    GUARD,
    NOW,
    Job,
    Snapshot,
    World,
    is_within,
    world,
)
from tests.storage_places import place_of

WORLDS = {"packed": examples(800, 4_000), "written": 100}
"""How many get their references as rows, and how many have real ``_metadata`` that are read."""
FIRST_SEEDS = {"packed": 4_000_150, "written": 4_900_700}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Judged]:
    """By kind."""
    made = {
        kind: [world(FIRST_SEEDS[kind] + number) for number in range(count)]
        for kind, count in WORLDS.items()
    }
    said = judged_worlds(made["packed"], tmp_path_factory.mktemp("worlds"), written=made["written"])
    return {kind: said.of(some) for kind, some in made.items()}


@pytest.fixture(scope="module", params=WORLDS)
def worlds(request: pytest.FixtureRequest, judged: dict[str, Judged]) -> Judged:
    return judged[request.param]


def test_nothing_deletable_is_needed_by_a_snapshot_that_stays(worlds: Judged) -> None:
    for one, said in worlds:
        for snapshot in one.snapshots:
            if _stays(one, snapshot, said):
                lost = one.really(said.deletable) & one.really([*snapshot.needs, snapshot.path])
                # A torn one that never completed may go.
                assert not lost - (
                    one.really([snapshot.path]) if snapshot.never_completed else set()
                ), _where(one, snapshot.path, lost)


def test_nothing_deletable_is_what_a_restore_in_flight_needs(worlds: Judged) -> None:
    for one, said in worlds:
        for job in one.jobs:
            if (
                job.may_run
                and not _is_dead(one, job)
                and job.restored
                and not any(snapshot.exists for snapshot in _snapshots(one, job))
            ):
                assert not one.really(said.deletable) & {*job.restored.needs, job.restored.path}, (
                    _where(one, job.job_id)
                )


def test_waste_is_only_what_a_whole_successor_has_left_behind(worlds: Judged) -> None:
    for one, said in worlds:
        for snapshot in one.snapshots:
            if snapshot.path in said.paths(RETAINED_WASTE):
                is_dead = snapshot.job is not None and _is_dead(one, snapshot.job)
                assert is_dead or _left_behind(one, snapshot), _where(one, snapshot.path)


def test_a_doubt_keeps_what_it_may_refer_to_and_nothing_else(worlds: Judged) -> None:
    beyond = 0
    for one, said in worlds:
        assert said.doubts or not _is_doubtful(one), _where(one, "doubtful, and nobody doubted")
        for reach, places in said.reaches:
            assert reach != "all_roots" or not said.deletable, _where(one, said.doubts)
            for place in places:
                reached = {path for path in said.deletable if f"{place}/" in path}
                assert not reached, _where(one, said.doubts, place)
        beyond += bool(said.doubts and said.deletable)
    assert beyond > len(worlds) / 20


def test_an_attestation_counts_only_while_nothing_contradicts_it(worlds: Judged) -> None:
    counted = 0
    for one, said in worlds:
        for job in (job for job in one.jobs if job.attested_at):
            mine = {path for path in said.deletable if is_within(path, job.directory)}
            if not _is_dead(one, job):
                assert "void_attestation" in said.doubts and not mine, _where(one, job.directory)
            counted += any(said.files[path][1] == "attested_dead" for path in mine)
    assert counted > len(worlds) / 200


def test_nothing_below_an_excluded_directory_is_deletable(worlds: Judged) -> None:
    for one, said in worlds:
        if one.excluded:
            assert not any(is_within(path, one.excluded) for path in said.deletable), _where(one)


def test_a_copy_stays_and_what_it_was_copied_from_is_judged(worlds: Judged) -> None:
    judged_beside = 0
    for one, said in worlds:
        if one.copied:
            copies = {path for path in said.deletable if "/backup/" in path}
            assert not copies, _where(one, copies)
            judged_beside += any(is_within(path, one.copied) for path in said.deletable)
    assert judged_beside > len(worlds) / 200


def test_a_directory_with_two_names_is_a_doubt_and_two_directories_are_none(worlds: Judged) -> None:
    for one, said in worlds:
        if not one.aliased and not one.copied:
            assert "two_names" not in said.doubts, _where(one, said.doubts)
    assert sum(bool(one.aliased) for one, _ in worlds) > len(worlds) / 20
    assert (
        sum(len(one.roots) > 1 and not one.aliased and bool(said.deletable) for one, said in worlds)
        > len(worlds) / 50
    )


def test_files_of_jobs_of_one_id_are_told_apart_by_their_directories(worlds: Judged) -> None:
    told_apart = 0
    for one, said in worlds:
        for job in one.jobs:
            same = [other for other in one.jobs if other.job_id == job.job_id and other is not job]
            mine = {path for path in said.deletable if is_within(path, job.directory)}
            told_apart += bool(mine) and any(other.directory != job.directory for other in same)
            # Where two write to one directory, nobody can tell whose a file is.
            shared = [other for other in same if other.directory == job.directory and other.known]
            dead = any(_is_dead(one, other) for other in (job, *shared))
            assert not (mine and shared and job.known and not dead), _where(one, job.directory)
    assert told_apart > len(worlds) / 100


def test_only_old_files_of_flinks_layout_with_one_known_owner_are_deletable(worlds: Judged) -> None:
    for one, said in worlds:
        for path in said.deletable:
            file, place = one.files[path], place_of(path)
            assert place.place in CANDIDATES and path not in one.foreign, _where(one, path)
            assert (
                file.modified
                and file.first_seen
                and max(file.modified, file.first_seen) <= NOW - GUARD
            ), _where(one, path)
            owners = [job for job in one.jobs if is_within(path, job.directory)]
            if any(_is_dead(one, job) for job in owners):
                continue
            owners = [job for job in owners if job.known]
            assert len(owners) == 1 and owners[0].seen, _where(one, path)
            since = owners[0].in_flight_since
            assert since is None or max(file.modified, file.first_seen) < since, _where(one, path)


def test_an_orphan_was_found_by_two_audits_with_a_checkpoint_between(worlds: Judged) -> None:
    for one, said in worlds:
        for path in said.paths(ORPHAN):
            since = one.files[path].unreferenced_since
            assert since and since < NOW, _where(one, path)
            owners = [job for job in one.jobs if is_within(path, job.directory)]
            assert any(
                owner.terminal
                or _is_dead(one, owner)
                or (owner.last_completed and owner.last_completed > since)
                for owner in owners
            ), _where(one, path)


def test_what_a_vanished_snapshot_referred_to_stays_unless_its_discard_was_seen(
    worlds: Judged,
) -> None:
    for one, said in worlds:
        for gone, path, discarded in one.earlier:
            if not discarded:
                assert path not in said.deletable, _where(one, gone, path)


def test_an_audit_counts_the_checkpoints_that_were_replaced_before_it_read_them(
    worlds: Judged,
) -> None:
    every = worlds.rows_of([one for one, _ in worlds])["storage_root"]
    replaced = {(row["audit_id"], row["root"]): row["replaced"] for row in map(json.loads, every)}
    vanished = Counter(
        (str(one.seed), one.root_of(snapshot.path))
        for one, _ in worlds
        for snapshot in one.snapshots
        if snapshot.listed and snapshot.failure == "vanished_metadata"
    )
    assert vanished and {key: count for key, count in replaced.items() if count} == vanished


def test_what_an_earlier_audit_did_not_list_stays(worlds: Judged) -> None:
    for one, said in worlds:
        assert not one.lacked & said.deletable, _where(one)


def test_task_owned_files_stay_while_their_job_or_its_successors_have_a_snapshot(
    worlds: Judged,
) -> None:
    for one, said in worlds:
        held = {
            snapshot.path
            for snapshot in one.snapshots
            if snapshot.exists and snapshot.listed and _stays(one, snapshot, said)
        }
        for path in said.deletable:
            if place_of(path).place in (
                "taskowned",
                "changelog",
                "merged_shared",
                "merged_taskowned",
            ):
                # Nobody restores from what a dead job left: it needs its own files alone.
                for job in (
                    job
                    for job in _line(one, path)
                    if is_within(path, job.directory) or not _is_dead(one, job)
                ):
                    assert not any(snapshot.path in held for snapshot in _snapshots(one, job)), (
                        _where(one, path)
                    )


def test_what_a_running_database_reads_stays_though_no_checkpoint_names_it(worlds: Judged) -> None:
    for one, said in worlds:
        for job in one.jobs:
            if job.may_run and not any(
                other.directory == job.directory for other in one.jobs if other is not job
            ):
                assert not one.really(said.deletable) & job.databases, _where(one, job.job_id)


def test_what_is_surely_dead_is_found(worlds: Judged) -> None:
    for one, said in worlds:
        if said.doubts:
            continue
        for file in one.files.values():
            owners = [job for job in one.jobs if is_within(file.path, job.directory)]
            strangers = [
                job
                for job in one.jobs
                if job.job_id == place_of(file.path).job_id and not job.last_path
            ]
            if (
                file.surely_dead
                and file.listed
                and len(owners) == 1
                and not strangers
                and _is_last_found(owners[0])
            ):
                assert said.files[file.path][0] == ORPHAN, _where(
                    one, file.path, said.files[file.path]
                )


def test_every_listed_file_has_one_verdict(worlds: Judged) -> None:
    for one, said in worlds:
        assert said.files.keys() == {path for path, file in one.files.items() if file.listed}, (
            _where(one)
        )


def test_the_worlds_are_rich_enough_to_mean_something(worlds: Judged) -> None:
    if len(worlds) < WORLDS["packed"]:
        assert any(said.deletable for _, said in worlds)
        return
    reasons = Counter(verdict[:2] for _, said in worlds for verdict in said.files.values())
    wanted = {(verdict, reason) for verdict, known in REASONS.items() for reason in known}
    assert wanted == set(reasons), (wanted - set(reasons), set(reasons) - wanted)
    doubts = Counter(reason for _, said in worlds for reason in said.doubts)
    assert set(doubts) >= set(DOUBTS) - {
        "bad_name",
        "bad_path",
        "restored_from_elsewhere",
        "writes_elsewhere",
    }, set(DOUBTS) - set(doubts)
    kinds = {
        verdict[2] for _, said in worlds for verdict in said.files.values() if verdict[0] == ORPHAN
    }
    assert kinds <= set(KINDS) and len(kinds) >= 4
    assert sum({*said.doubts} <= {"link"} for _, said in worlds) > len(worlds) / 3
    assert reasons[ORPHAN, "unreferenced"] > len(worlds) / 4
    assert reasons[RETAINED_WASTE, "superseded"] > len(worlds) / 50
    assert reasons[KEPT, "in_doubt"] > len(worlds) / 10


def _where(one: World, *more: object) -> str:
    return f"world({one.seed}): {more}"


def _is_dead(one: World, job: Job) -> bool:
    """Attested, and nothing contradicts it."""
    same = [other for other in one.jobs if other.job_id == job.job_id]
    at = max(
        (
            other.attested_at
            for other in same
            if other.attested_at and other.directory == job.directory
        ),
        default=None,
    )
    if at is None:
        return False
    writers = [
        other
        for other in same
        if other.known and (other.last_path is None or other.directory == job.directory)
    ]
    alive = any(
        (other.seen and not other.terminal)
        or any(
            did and did > at
            for did in (
                other.started,
                other.restored_at,
                other.last_completed,
                other.in_flight_since,
                other.ended_at,
            )
        )
        for other in writers
    )
    listed = [
        file for path, file in one.files.items() if is_within(path, job.directory) and file.listed
    ]
    newest = [
        max(file.modified or NOW, one.seen_again.get(file.path, file.first_seen) or NOW)
        for file in listed
    ]
    return not alive and max(newest, default=at) <= at + timedelta(seconds=60)


def _stays(one: World, snapshot: Snapshot, said: Said) -> bool:
    """One of a dead job that nobody can read is no reason to keep files of others."""
    is_unread = snapshot.job is not None and snapshot.failure and _is_dead(one, snapshot.job)
    is_waste = said.files.get(snapshot.path, ("", "", ""))[0] == RETAINED_WASTE
    return snapshot.exists and not is_waste and not is_unread


def _snapshots(one: World, job: Job) -> list[Snapshot]:
    return [snapshot for snapshot in one.snapshots if snapshot.job is job]


def _line(one: World, path: str) -> list[Job]:
    """The job whose directory holds the file, and all that stem from it."""
    line = [job for job in one.jobs if is_within(path, job.directory)]
    for job in line:
        line += [
            heir
            for heir in one.jobs
            if heir.restored and heir.restored.job is job and heir not in line
        ]
    return line


def _is_last_found(job: Job) -> bool:
    """Of one that ended; what nobody finds may lie elsewhere, and refer back."""
    last = job.last_completed_id
    return (
        not job.terminal
        or last is None
        or any(one.is_read and one.number >= last for one in job.snapshots)
    )


def _is_doubtful(one: World) -> bool:
    def provably_never_completed(snapshot: Snapshot) -> bool:
        owners = [
            job
            for job in one.jobs
            if job.known and snapshot.job and job.directory == snapshot.job.directory
        ]
        return snapshot.never_completed and len(owners) == 1

    failed = any(
        s.listed and s.failure in FAILURES and not provably_never_completed(s)
        for s in one.snapshots
    )
    # Below another directory a file is told by its place in Flink's layout; where it has none it is
    # no candidate.
    elsewhere = any(
        re.search("alias-|nameservice-|/data/.*/(chk-|shared|savepoint-)", path)
        for s in one.snapshots if s.is_read for path in s.written.values()
    )  # fmt: skip
    listed = {path for path, file in one.files.items() if file.listed}
    twice = any(
        one.files[path].alias_of in listed and place_of(path).place in CANDIDATES - {"metadata"}
        for path in listed
    )
    return bool(one.unlisted) or failed or elsewhere or twice


def _left_behind(one: World, snapshot: Snapshot) -> bool:
    """Restated from the design, in terms of the world."""
    job = snapshot.job
    if (
        job is None
        or "/chk-" not in snapshot.path
        or job.may_run
        or snapshot.modified > NOW - GUARD
    ):
        return False

    def has_its_own(heir: Job) -> bool:
        return heir.seen and any(
            s.exists
            and s.is_read
            and heir.restored_at
            and s.modified > heir.restored_at
            and all(
                is_within(path, heir.directory) and path in one.files and one.files[path].listed
                for path in s.needs
            )
            for s in _snapshots(one, heir)
            if "/chk-" in s.path
        )

    heirs = [heir for heir in one.jobs if heir.known and heir.restored and heir.restored.job is job]
    needed_still = any(heir.may_run and not has_its_own(heir) for heir in heirs)
    return not needed_still and any(
        has_its_own(heir) and heir.restored and heir.restored.number >= snapshot.number
        for heir in heirs
    )
