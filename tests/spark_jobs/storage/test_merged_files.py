"""Merged files that are needed in part, of jobs that merged them: recounted in the bytes of each
``_metadata`` that was left.
"""

import re
from collections import Counter
from datetime import timedelta

import pytest

from tests import played_trees

AS_OF = timedelta(minutes=5)
MERGED = ("segmented_files", "segmented_file_bytes", "live_segment_bytes")


def needed(played: str, folder) -> dict[str, set[tuple[int, int]]]:
    """Path → offset and size of each segment that any ``_metadata`` names: tag 15, both numbers,
    the length of the path, the path.
    """
    root = played_trees.root_uri(played).encode()
    segment = re.compile(
        rb"\x0f(.{8})(.{8}).{4}..(" + re.escape(root) + rb"/[ -~]+?/[0-9a-f-]{36})", re.DOTALL
    )
    found: dict[str, set[tuple[int, int]]] = {}
    for file in folder.rglob("_metadata"):
        for one in segment.finditer(file.read_bytes()):
            found.setdefault(one[3].decode(), set()).add(
                (int.from_bytes(one[1], "big"), int.from_bytes(one[2], "big"))
            )
    return found


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_what_of_each_merged_file_nothing_needs_is_that_of_a_plain_recount(version, tmp_path):
    played = f"{version}/counted-merged"
    [audited] = played_trees.audited(
        played, tmp_path, [("final", played_trees.newest(played) + AS_OF)], []
    )
    root = played_trees.root_uri(played)
    sizes = {f"{root}/{path}": size for path, size, _modified in played_trees.listed(played)}
    segments = needed(played, tmp_path / "tree-final")
    assert segments.keys() <= sizes.keys()
    unused = {
        path: sizes[path] - sum(size for _offset, size in of) for path, of in segments.items()
    }
    figures: Counter[str] = Counter()
    for row in audited.rows("storage_job", "run-1"):
        figures.update({name: row[name] for name in MERGED})
    assert figures["segmented_file_bytes"] - figures["live_segment_bytes"] == sum(unused.values())
    assert figures["segmented_files"] == len(segments) > 3
