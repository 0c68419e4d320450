"""Directories of checkpoints that are played: as the recording lists them, under the ids of a turn,
at the time of now.
"""

import json
from pathlib import Path

import pytest

from ingest.replay.checkpoint_tree import CheckpointTree
from ingest.replay.player import GAP_MS, LINGER_MS, Player
from ingest.replay.shipped import CHECKPOINTS, SHIPPED, recordings
from ingest.replay.tape import Tape, id_of

NOW_MS = 1_800_000_000_000
PAST_MS = 96 * 3_600_000


def ids_of(recording: Path) -> dict[str, str]:
    return {
        job["id"]: id_of(job["id"], 1)
        for job in json.loads((recording / "scenario.json").read_text())["jobs"]
    }


def found(folder: Path) -> dict[str, int]:
    return {
        str(file.relative_to(folder)): file.stat().st_size
        for file in folder.rglob("*")
        if file.is_file()
    }


def final(recording: Path, ids: dict[str, str]) -> dict[str, int]:
    """By the listing that the recording made when all was over, a file of its own."""
    text = (recording / "listing-final.tsv").read_text()
    for old, new in ids.items():
        text = text.replace(old, new).replace(f"savepoint-{old[:6]}-", f"savepoint-{new[:6]}-")
    return {path: int(size) for path, size, _at in (line.split("\t") for line in text.splitlines())}


@pytest.mark.parametrize(
    "shipped",
    [one for one in SHIPPED if one.has_past]
    + [one for one in SHIPPED if one.recording == "1.12.5/G"],
)
def test_in_the_end_it_is_what_the_recorded_cluster_left(shipped, tmp_path):
    recording = recordings() / shipped.recording
    ids = ids_of(recording)
    tree = CheckpointTree(recording, tmp_path)
    tree.show_end(0, ids)
    assert found(tmp_path) == final(recording, ids)
    assert f"file:{tree.root}" == shipped.written_to


def test_a_checkpoint_is_there_when_it_was_written_and_gone_when_it_was_subsumed(tmp_path):
    recording = recordings() / "1.20.5" / "E"
    [own] = (ids := ids_of(recording)).values()
    listings = [json.loads(line) for line in (recording / "listing.jsonl").read_text().splitlines()]
    written_ms = {
        path: round(at * 1000) for listing in listings for path, _size, at in listing["files"]
    }
    first = min(
        (path for path in written_ms if path.endswith("_metadata")), key=written_ms.__getitem__
    )
    here = tmp_path / first.replace(*next(iter(ids.items())))
    tree = CheckpointTree(recording, tmp_path)
    tree.show(written_ms[first] - 1, 5_000, ids)
    assert not here.exists()
    tree.show(written_ms[first], 5_000, ids)
    assert round(here.stat().st_mtime * 1000) == written_ms[first] + 5_000
    tree.show_end(5_000, ids)
    assert not here.parent.exists()
    assert [place.name for place in (tmp_path / "ckpt").iterdir()] == [own]


def test_the_metadata_lead_to_the_files_that_lie_beside_them(tmp_path):
    """A job of a chain refers to files of another: both have the ids of the turn."""
    recording = recordings() / "1.20.5" / "H"
    ids = ids_of(recording)
    CheckpointTree(recording, tmp_path).show_end(0, ids)
    content = b"".join(file.read_bytes() for file in tmp_path.rglob("_metadata"))
    assert not any(old.encode() in content for old in ids)
    assert sum(new.encode() in content for new in ids.values()) > 2


def test_a_player_keeps_what_the_past_left_and_replaces_what_the_turn_before_wrote(tmp_path):
    tape = Tape(recordings() / "1.20.5" / "I")
    player = Player(tape, {}, tmp_path, past_ms=PAST_MS)
    player.tick(NOW_MS, writes_checkpoints=False)
    past = found(tmp_path / CHECKPOINTS)
    assert len(past) == len((tape.folder / "listing-final.tsv").read_text().splitlines())
    player.tick(NOW_MS)
    before = found(tmp_path / CHECKPOINTS)
    assert before.items() > past.items()
    next_ms = player.turns[-1].began_ms + tape.length_ms + GAP_MS
    player.tick(next_ms)
    assert found(tmp_path / CHECKPOINTS).items() >= before.items() - past.items()
    player.tick(next_ms + LINGER_MS + 1)
    after = found(tmp_path / CHECKPOINTS)
    assert after.items() > past.items()
    assert not (before.keys() & after.keys()) - past.keys()


def test_what_somebody_cleaned_of_the_past_does_not_come_back(tmp_path):
    tape = Tape(recordings() / "1.20.5" / "I")
    Player(tape, {}, tmp_path, past_ms=PAST_MS).tick(NOW_MS, writes_checkpoints=False)
    orphan = next((tmp_path / CHECKPOINTS).rglob("shared/*"))
    orphan.unlink()
    again = Player(tape, {}, tmp_path, past_ms=PAST_MS)
    again.tick(NOW_MS + 1_000, writes_checkpoints=False)
    assert not orphan.exists()
    listed = json.loads(again.answer("/jobs/overview", NOW_MS + 1_000)[1])["jobs"]
    assert min(job["start-time"] for job in listed) < NOW_MS - PAST_MS + tape.length_ms
