"""What merging would save, against merging files one by one; which merged files are worth
compacting; the same behind each door.
"""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from tests.webapp.analyses.answers import facts_of, tables_of
from tests.webapp.storage.builders import ROOT, audit, root, root_figures
from webapp.analyses.storage.root_merging import LARGEST_BYTES, LIMITS, merge_benefits
from webapp.storage.models import MergedFile

GIB = 1 << 30


def histogram(sizes: list[int]) -> list[dict[str, int]]:
    steps: dict[int, list[int]] = {}
    for size in sizes:
        steps.setdefault(1 << max(size - 1, 0).bit_length(), []).append(size)
    return [
        {"le_bytes": step, "files": len(of), "bytes": sum(of)} for step, of in sorted(steps.items())
    ]


def packed(sizes: list[int], checkpoints: int) -> int:
    """Written one after the other into files that may be full, each checkpoint into its own."""
    of_checkpoint = (
        [sizes[place::checkpoints] for place in range(max(checkpoints, 1))]
        if checkpoints
        else [sizes]
    )
    return sum(-(-sum(of) // LARGEST_BYTES) or bool(of) for of in of_checkpoint)


@given(st.lists(st.integers(1, 64 << 20), max_size=60), st.integers(1, 5))
def test_no_way_to_merge_leaves_fewer_files_than_is_said_and_none_is_said_to_vanish(
    sizes: list[int], checkpoints: int
) -> None:
    for one in merge_benefits(histogram(sizes), checkpoints, 0):
        small = [size for size in sizes if size <= one.up_to_bytes]
        assert (one.files, one.bytes) == (len(small), sum(small))
        if len(small) >= checkpoints:
            assert 0 < one.least <= max(packed(small, checkpoints), checkpoints)
        assert one.least <= one.files and 0 <= one.saved_share < 1


def test_metadata_is_never_merged() -> None:
    benefits = merge_benefits(histogram([20_000] * 100), checkpoints=10, metadata_files=10)
    assert [(one.up_to_bytes, one.files, one.least) for one in benefits] == [
        (limit, 100, 20) for limit in LIMITS
    ]


@pytest.mark.django_db
def test_page_api_and_command_tell_the_same(viewer: Client) -> None:
    root()
    made = audit()
    root_figures(made, segmented_files=2, segmented_file_bytes=5 * GIB, live_segment_bytes=2 * GIB)
    of_file = {"audit": made, "root": ROOT, "job_id": "a" * 32, "checkpoints": 3}
    for name, size, live in (("half", 2 * GIB, GIB), ("most", 3 * GIB, GIB)):
        path = f"{ROOT}/{'a' * 32}/shared/{name}"
        MergedFile.objects.create(
            path=path, bytes=size, live_segment_bytes=live, unused_bytes=size - live, **of_file
        )
    document = viewer.get(reverse("api-storage-analysis-merging"), {"root": ROOT}).json()
    worth, benefits = (
        tables_of(document)[name]["rows"] for name in ("worth_compacting", "benefits")
    )
    assert [one["path"].rpartition("/")[2] for one in worth] == ["most", "half"]
    assert (facts_of(document)["freed_bytes"], worth[0]["amplification"]) == (3 * GIB, 3.0)
    (benefit,) = [one for one in benefits if one["up_to_bytes"] == 1 << 20]
    assert (benefit["files"], benefit["least"], benefit["saved"]) == (10, 4, 6)
    out, printed = StringIO(), StringIO()
    call_command("analyse", ROOT.replace("s3:", "s3a:"), "merging", "--json", stdout=out)
    assert json.loads(out.getvalue()) == document
    call_command("analyse", ROOT, "merging", stdout=printed)
    page = viewer.get(reverse("storage-merging"), {"uri": ROOT}).content.decode()
    for text in (
        "Compacting 2 merged files would free 3.2 GB.",
        "Merged files worth compacting",
        "1 MiB",
        worth[0]["path"],
    ):
        assert text in page and text in printed.getvalue()
    assert (
        reverse("storage-merging")
        in viewer.get(reverse("storage-root"), {"uri": ROOT}).content.decode()
    )
    figure = viewer.get(reverse("storage-merging-chart-sizes"), {"uri": ROOT}).json()["figure"]
    assert sum(figure["data"][0]["y"]) >= 10


@pytest.mark.django_db
def test_a_root_that_no_audit_looked_at_is_refused(viewer: Client) -> None:
    for name in ("storage-merging", "storage-merging-chart-sizes"):
        assert viewer.get(reverse(name), {"uri": ROOT}).status_code == 404
    assert viewer.get(reverse("api-storage-analysis-merging"), {"root": ROOT}).status_code == 404
    with pytest.raises(CommandError, match="No audit has looked at"):
        call_command("analyse", ROOT, "merging")


@pytest.mark.django_db
def test_sums_beyond_64_bits_are_drawn(viewer: Client) -> None:
    root()
    hostile = [{"le_bytes": 131_072, "files": 1 << 70, "bytes": 1}]
    root_figures(audit(), size_histogram=hostile)
    answer = viewer.get(reverse("storage-merging-chart-sizes"), {"uri": ROOT})
    assert answer.status_code == 200
    assert str(1 << 70) in answer.content.decode()
