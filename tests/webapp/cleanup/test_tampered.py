"""Journals and quarantines that somebody laid hands on: nothing is moved or deleted on their word,
least of all elsewhere.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.webapp.cleanup.carrying import Carried, effects_equal_the_journal, plan
from tests.webapp.cleanup.worlds import World
from webapp.cleanup import manifest, plan_builder, plan_reader
from webapp.cleanup.errors import CleanupError, Halted, PlanDamaged, PlanRefused

VERBS: dict[str, Callable[[Carried], None]] = {
    "apply": Carried.apply,
    "undo": Carried.undo,
    "purge": Carried.purge,
}
CHUNKS = 3

Lines = list[dict[str, Any]]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (plan_builder, plan_reader, manifest):
        monkeypatch.setattr(module, "CHUNK_ROWS", 2)


@pytest.fixture
def carried(world: World, orphan: Path, tmp_path: Path) -> Carried:
    """Applied, but for its last chunk, as if it had been stopped before that."""
    for _ in range(2 * CHUNKS - 1):
        world.file(world.job(1) / "shared")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "precious").write_bytes(b"state")
    carried = plan(world, tmp_path)
    carried.apply()
    last = list(carried.reader.chunks())[-1]
    for file in carried.run().planned(last):
        Path(file.target).rename(file.source)
    for written in folder_of(carried).glob(f"{last.number:08}.*"):
        written.unlink()
    return carried


def folder_of(carried: Carried) -> Path:
    return Path(carried.reader.folder.uri) / "journal" / "apply"


def effect(carried: Carried, chunk: int = 0) -> Path:
    return folder_of(carried) / f"{chunk:08}.effect.jsonl"


def rewrite(path: Path, change: Callable[[Lines], Lines | None]) -> None:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines = change(lines) or lines
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def everything(carried: Carried) -> dict[str, bytes]:
    above = carried.world.root.parent
    kept = (
        path
        for path in above.rglob("*")
        if path.is_file() and not path.is_relative_to(above / "audits")
    )
    return {str(path): path.read_bytes() for path in kept}


def a_row_is_taken_out(carried: Carried) -> None:
    rewrite(effect(carried), lambda lines: [lines[0], *lines[2:]])


def a_row_is_added(carried: Carried) -> None:
    rewrite(
        effect(carried),
        lambda lines: [lines[0], lines[1] | {"path": "file:/etc/passwd"}, *lines[1:]],
    )


def an_outcome_is_changed(carried: Carried) -> None:
    rewrite(effect(carried), lambda lines: lines[1].update(outcome="failed"))


def a_place_leaves_the_quarantine(carried: Carried) -> None:
    rewrite(
        effect(carried),
        lambda lines: lines[1].update(
            quarantine=str(carried.world.root.parent / "outside" / "precious")
        ),
    )


def a_place_steps_upwards(carried: Carried) -> None:
    rewrite(
        effect(carried),
        lambda lines: lines[1].update(
            quarantine=lines[1]["quarantine"] + "/../../../../../outside/precious"
        ),
    )


def the_last_effect_is_changed(carried: Carried) -> None:
    rewrite(effect(carried, CHUNKS - 2), lambda lines: lines[1].update(outcome="changed"))


def the_last_effect_is_of_another_hand(carried: Carried) -> None:
    rewrite(effect(carried, CHUNKS - 2), lambda lines: lines[-1].update(seal="0" * 64))


def an_effect_is_copied_to_another_chunk(carried: Carried) -> None:
    effect(carried, CHUNKS - 1).write_bytes(effect(carried, 0).read_bytes())


def an_effect_from_the_middle_is_gone(carried: Carried) -> None:
    for written in folder_of(carried).glob("00000000.*"):
        written.unlink()


def an_effect_is_cut_off(carried: Carried) -> None:
    effect(carried).write_bytes(effect(carried).read_bytes()[:-40])


def an_effect_is_no_text(carried: Carried) -> None:
    effect(carried).write_bytes(b"\xff\x00" * 50)


def an_intent_names_a_file_outside(carried: Carried) -> None:
    intent = folder_of(carried) / f"{CHUNKS - 1:08}.0123456789ab.intent.jsonl"
    intent.write_text(
        '{"record":"intent"}\n{"path":"file:'
        + str(carried.world.root.parent / "outside" / "precious")
        + '"}\n'
    )


def a_chunk_is_added_that_the_plan_has_not(carried: Carried) -> None:
    (folder_of(carried) / "00000099.effect.jsonl").write_bytes(effect(carried).read_bytes())


def something_else_lies_there(carried: Carried) -> None:
    (folder_of(carried) / "..effect.jsonl~").write_text("x")
    (folder_of(carried) / "notes.txt").write_text("x")


TAMPERED = [
    a_row_is_taken_out,
    a_row_is_added,
    an_outcome_is_changed,
    a_place_leaves_the_quarantine,
    a_place_steps_upwards,
    the_last_effect_is_changed,
    the_last_effect_is_of_another_hand,
    an_effect_is_copied_to_another_chunk,
    an_effect_from_the_middle_is_gone,
    an_effect_is_cut_off,
    an_effect_is_no_text,
    an_intent_names_a_file_outside,
    a_chunk_is_added_that_the_plan_has_not,
    something_else_lies_there,
]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
def test_a_journal_of_another_hand_stops_everything(
    carried: Carried, tamper: Callable[[Carried], None], verb: str
) -> None:
    tamper(carried)
    before = everything(carried)
    with pytest.raises(PlanDamaged, match="journal"):
        VERBS[verb](carried)
    assert everything(carried) == before


@pytest.mark.parametrize("verb", ["undo", "purge"])
def test_the_end_of_a_journal_that_was_lost_is_found_by_looking(
    carried: Carried, verb: str
) -> None:
    """The intent is there, the effect is not: as after a crash."""
    carried.apply()
    effect(carried, CHUNKS - 1).unlink()
    VERBS[verb](carried)
    effects_equal_the_journal(carried)
    assert not carried.world.unresolved() and not any(
        path.is_file() for path in carried.world.quarantine.rglob("*")
    )


def swapped(carried: Carried, place: Path) -> Path:
    """``place`` is a link by now, to where files of the same names lie that are somebody's."""
    elsewhere = carried.world.root.parent / "elsewhere"
    place.rename(elsewhere)
    place.symlink_to(elsewhere)
    return elsewhere


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("depth", ["plan", "root", "job", "shared"])
def test_a_link_within_the_quarantine_is_not_followed(
    carried: Carried, depth: str, verb: str
) -> None:
    names = {"plan": 1, "root": 2, "job": 3, "shared": 4}
    any_file = next(path for path in carried.world.quarantine.rglob("*") if path.is_file())
    steps = any_file.relative_to(carried.world.quarantine).parts[: names[depth]]
    swapped(carried, carried.world.quarantine.joinpath(*steps))
    if verb == "apply":
        # What is still to go has a place there, too.
        for written in list(folder_of(carried).iterdir()):
            written.unlink()
        carried.world.file(carried.world.job(1) / "shared")
    before = everything(carried)
    with pytest.raises(CleanupError, match=r"link|journal"):
        VERBS[verb](carried)
        raise (
            PlanDamaged("the journal is as it was")
            if verb == "apply"
            else AssertionError("not stopped")
        )
    now = everything(carried)
    assert {path: now.get(path) for path in before if "elsewhere" in path or "outside" in path} == {
        path: content
        for path, content in before.items()
        if "elsewhere" in path or "outside" in path
    }


def test_a_file_in_quarantine_that_is_a_link_by_now_is_left_alone(carried: Carried) -> None:
    kept = next(path for path in carried.world.quarantine.rglob("*") if path.is_file())
    precious = carried.world.root.parent / "outside" / "precious"
    kept.unlink()
    kept.symlink_to(precious)
    for verb in ("purge", "undo"):
        with pytest.raises(Halted, match="is a link or lies behind one"):
            VERBS[verb](carried)
    assert precious.read_bytes() == b"state" and kept.is_symlink()


@pytest.mark.parametrize("verb", ["undo", "purge"])
def test_a_quarantine_that_leads_into_the_root_by_now_is_refused(
    carried: Carried, verb: str
) -> None:
    quarantine = carried.world.quarantine
    inside = carried.world.root / "kept"
    quarantine.rename(inside)
    quarantine.symlink_to(inside)
    before = everything(carried)
    with pytest.raises(PlanRefused, match="lie in each other"):
        VERBS[verb](carried)
    assert everything(carried) == before


def test_a_quarantine_that_was_moved_to_another_disk_and_linked_is_still_the_quarantine(
    carried: Carried,
) -> None:
    swapped(carried, carried.world.quarantine)
    carried.undo()
    assert set(carried.outcomes("undo").values()) == {"restored"}


def test_another_file_of_the_same_size_in_quarantine_is_not_purged(carried: Carried) -> None:
    kept = next(path for path in carried.world.quarantine.rglob("*") if path.is_file())
    size = kept.stat().st_size
    kept.write_bytes(b"\x01" * size)
    carried.purge()
    assert carried.outcomes("purge")[kept.name] == "changed" and kept.exists()
