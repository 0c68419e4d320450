"""A rewritten ``_metadata`` differs from its original in absolute paths and in nothing else."""

import io
import re
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import Refused
from ingest.metadata.dialects import MetadataError
from ingest.metadata.rewriting import encoded, rewrite
from ingest.metadata.window import decode
from tests.ingest.metadata import samples
from tests.ingest.metadata.reading import lines
from tests.ingest.metadata.test_recorded import RECORDED, unpacked
from tests.ingest.metadata.writing import utf
from tests.lab.jars import compile_java, flink_jars
from tests.lab.releases import RELEASES
from tests.selections import for_each, mostly_long

LIST_HANDLES = Path(__file__).parents[2] / "integration" / "java" / "ListHandles.java"
ALL = {f"sample {name}": written for name, written in samples.ALL.items()} | {
    name: unpacked(name) for name in RECORDED
}
LENGTHS = {"inline_at", "file_size"}
"""What shifts with the lengths of paths."""


def rewritten(written: bytes, moved: Any) -> bytes:
    out = io.BytesIO()
    rewrite(lambda: io.BytesIO(written), out, moved)
    return out.getvalue()


def elsewhere(path: str) -> str:
    """Longer or shorter, by the path."""
    return f"s3://copy/{'x' * (sum(path.encode()) % 90)}é/{path.rpartition('/')[2]}"


def absolute_paths(found: list[dict[str, Any]]) -> set[str]:
    others = {"RelativeFileStateHandle", "EmptySegmentFileStateHandle"}
    paths = {
        line["path_or_null"]
        for line in found
        if line.get("path_or_null") and line["handle_class"] not in others
    }
    return paths | {path for line in found for path in line.get("managed_directories") or ()}


@for_each(name=ALL)
def test_nothing_changes_where_no_path_does(name: str) -> None:
    assert rewritten(ALL[name], lambda path: path) == ALL[name]


@for_each(name=ALL)
def test_only_the_bytes_of_absolute_paths_are_others(name: str) -> None:
    """Found by another hand: as Java writes each path, wherever these bytes stand."""
    paths = absolute_paths(lines(ALL[name])[1:])
    expected = ALL[name]
    if paths:
        written = re.compile(
            b"|".join(re.escape(utf(path)) for path in sorted(paths, key=len, reverse=True))
        )
        expected = written.sub(lambda found: utf(elsewhere(decode(found[0][2:]))), expected)
    assert rewritten(ALL[name], elsewhere) == expected
    assert (expected == ALL[name]) is not bool(paths)


@for_each(name=ALL)
def test_our_reader_sees_the_same_handles_at_other_places(name: str) -> None:
    before, after = lines(ALL[name])[1:], lines(rewritten(ALL[name], elsewhere))[1:]
    paths = absolute_paths(before)
    assert without_lengths(after) == without_lengths(moved_in(before, paths))


def without_lengths(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key not in LENGTHS} for line in found]


def moved_in(told: Any, paths: set[str]) -> Any:
    """Also where a handle's id is its path, or that with its place in the file."""
    if isinstance(told, dict):
        return {key: moved_in(value, paths) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return [moved_in(value, paths) for value in told]
    if isinstance(told, str):
        path, dash, place = told.rpartition("-")
        return (
            elsewhere(told)
            if told in paths
            else f"{elsewhere(path)}{dash}{place}"
            if path in paths
            else told
        )
    return told


@given(st.text())
def test_paths_are_written_as_java_writes_them(path: str) -> None:
    assert encoded(path) == utf(path)
    assert decode(encoded(path)[2:]) == path


def test_a_path_that_the_format_cannot_hold_is_refused() -> None:
    with pytest.raises(Refused, match="does not fit"):
        rewritten(samples.V4, lambda path: path + "x" * 70_000)


@pytest.mark.parametrize("cut", [4, 9, 200, -1])
def test_of_a_file_that_cannot_be_read_to_its_end_nothing_is_written(cut: int) -> None:
    out = io.BytesIO()
    with pytest.raises(MetadataError):
        rewrite(lambda: io.BytesIO(samples.V4[:cut]), out, elsewhere)
    assert out.getvalue() == b""


@pytest.mark.integration
@pytest.mark.parametrize("version", mostly_long(["2.3.0", "1.12.5", "1.20.5"]))
def test_flinks_own_loader_reads_what_was_rewritten(version: str, tmp_path: Path) -> None:
    names = [name for name in RECORDED if name.startswith(version)] or [
        "written-4-by-2.3.0",
        "written-5-by-2.3.0",
        "written-6-by-2.3.0",
    ]
    for name in names:
        for folder, moved in (("before", lambda path: path), ("after", elsewhere)):
            file = tmp_path / folder / name / "_metadata"
            file.parent.mkdir(parents=True)
            file.write_bytes(rewritten(unpacked(name), moved))
    jars, classes = flink_jars(RELEASES[version]), tmp_path / "classes"
    compile_java([LIST_HANDLES], f"{jars}/*", classes)
    before, after = loaded(jars, classes, tmp_path, names)
    assert len(after) >= len(names)
    expected = Counter(
        {
            (name, *who, class_, path if class_ in KEPT_NAMES else elsewhere(path), size): count
            for (name, *who, class_, path, size), count in before.items()
        }
    )
    assert after == expected
    if version == "1.20.5":
        assert {key[3] for key in after} == {
            *KEPT_NAMES,
            "FileStateHandle",
            "SegmentFileStateHandle",
        }


KEPT_NAMES = {"ByteStreamStateHandle", "RelativeFileStateHandle", "EmptySegmentFileStateHandle"}


def loaded(
    jars: Path, classes: Path, folder: Path, names: list[str]
) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
    """What Flink's loader sees in those of ``before`` and in those of ``after``, by one JVM."""
    sides = [f"{folder}/{side}" for side in ("before", "after")]
    files = [f"{side}/{name}/_metadata" for side in sides for name in names]
    command = [
        "java",
        "-XX:TieredStopAtLevel=1",
        "-Xmx512m",
        "-cp",
        f"{classes}:{jars}/*",
        "ListHandles",
        *files,
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = [tuple(line.split("\t")) for line in done.stdout.splitlines()]
    before, after = (
        Counter(
            tuple(part.replace(side, "") for part in line)
            for line in found
            if len(line) == 6 and line[0].startswith(f"{side}/")
        )
        for side in sides
    )
    return before, after
