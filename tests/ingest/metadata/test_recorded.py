"""Files of real clusters read as Flink's own loader reads them."""

import gzip
import json
from typing import Any

from tests.ingest.metadata.reading import lines
from tests.ingest.metadata.writing import FIXTURES
from tests.selections import for_each

RECORDED = sorted(
    path.name.removesuffix(".metadata.gz") for path in FIXTURES.glob("[1-9]*.metadata.gz")
)

OURS = {
    "inline_at",
    "inline_bytes",
    "managed_directories",
    "operator_name",
}
"""What the loader does not tell."""
NOT_KEPT = {
    "scope",
    "key_groups",
    "handle_checkpoint_id",
    "materialization_id",
    "stream_offset",
    "stream_total_size",
    "storage",
    "from",
    "to",
    "channel_size",
    "subtask_index",
    "channel_info",
    "offsets",
}
"""What stands in the file and nothing of Weir needs."""
MADE_UP = {"KeyGroupsSavepointStateHandle": {"keyed_handle_id"}}
"""What the loader invents at each load because it is not in the file."""


def unpacked(name: str) -> bytes:
    return gzip.decompress((FIXTURES / f"{name}.metadata.gz").read_bytes())


def oracle(name: str) -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for line in gzip.decompress(
            (FIXTURES / f"{name}.oracle.jsonl.gz").read_bytes()
        ).splitlines()
    ]


def directory(header: dict[str, Any]) -> str:
    return f"file:{header['file'].rpartition('/')[0]}"


def shows_less(header: dict[str, Any]) -> bool:
    """Loaders before 1.16 have no ids, before 1.17 keep files in a hash map, and their meta handles
    were not looked into.
    """
    return str(header["flink"]) < "1.17"


def known_to_old(line: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in line.items() if value is not None or key == "subtask"}


def by_name(line: dict[str, Any]) -> tuple[Any, ...]:
    return line["operator_id"], line["subtask"], line["kind"], line.get("local_path", "")


@for_each(name=RECORDED)
def test_every_handle_is_the_one_that_flinks_loader_sees(name: str) -> None:
    header, *expected = oracle(name)
    _, *found = lines(unpacked(name), directory(header))
    old = shows_less(header)
    if old:
        expected, found = sorted(expected, key=by_name), sorted(found, key=by_name)
    assert len(found) == len(expected)
    for theirs, ours in zip(expected, found, strict=True):
        told = known_to_old(theirs) if old else theirs
        compared = set(told) - MADE_UP.get(theirs["state_class"], set()) - NOT_KEPT
        assert {key: ours.get(key, "missing") for key in compared} == {
            key: told[key] for key in compared
        }
        assert old or set(ours) - OURS == set(theirs) - NOT_KEPT


@for_each(name=RECORDED)
def test_the_header_and_the_totals_of_each_operator_are_the_same(name: str) -> None:
    theirs = oracle(name)[0]
    ours = lines(unpacked(name), directory(theirs))[0]
    for key in (
        "checkpoint_id",
        "version",
        "total_state_size",
        "handles",
        "master_states",
        "file_size",
    ):
        assert ours[key] == theirs[key], key
    if ours["properties"]:
        name, savepoint_format = ours["properties"]
        assert f"name='{name}'" in theirs["properties"]
        assert savepoint_format is None or f"formatType={savepoint_format}" in theirs["properties"]
    by_id = {operator["operator_id"]: operator for operator in ours["operators"]}
    assert len(by_id) == len(theirs["operators"])
    for operator in theirs["operators"]:
        told = known_to_old(operator)
        assert {key: by_id[operator["operator_id"]].get(key) for key in told} == told


def test_the_fixtures_hold_every_kind_of_handle_of_the_recordings() -> None:
    kinds = {
        (line["kind"], line["state_class"], line["handle_class"])
        for name in RECORDED
        for line in oracle(name)[1:]
    }
    assert len(kinds) == 30 + 2  # loaders before 1.17 show no class for meta handles
    assert {name.split("-")[1] for name in RECORDED} == {
        "A",
        "B",
        "C2",
        "E",
        "F",
        "G",
        "H",
        "I",
        "J",
        "K",
        "L1",
        "L2",
        "L3",
        "M",
        "ForSt",
    }
