"""Two names of one directory: refused when a root is registered, said in plain words where an audit
met them.
"""

from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.urls import reverse

from tests.webapp.storage.builders import ROOT, audit, doubt, root, root_figures
from webapp.cleanup.planning import sort_roots
from webapp.storage.models import StorageRoot
from webapp.storage.registration import save

pytestmark = pytest.mark.django_db
OTHER = "hdfs://ns/flink"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "ckpt" / "jobs").mkdir(parents=True)
    (tmp_path / "beside").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "ckpt")
    (tmp_path / "into").symlink_to(tmp_path / "ckpt" / "jobs")
    root(f"file:{tmp_path}/ckpt")
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("link",),
        ("into",),
        ("s3://bucket/flink", "--read-at", "ckpt"),
        ("s3://bucket/flink", "--read-at", "ckpt/jobs"),
    ],
)
def test_a_root_that_is_or_lies_in_another_by_a_second_name_is_refused(
    tree: Path, arguments: tuple[str, ...]
) -> None:
    placed = [
        word if "//" in word or word.startswith("--") else str(tree / word) for word in arguments
    ]
    with pytest.raises(CommandError, match=r"the same directory.*WEIR_STORAGE_ALIASES"):
        call_command("add_storage_root", *placed)
    assert StorageRoot.objects.count() == 1


def test_the_form_says_it_too(tree: Path, operator) -> None:
    answer = operator.post(
        reverse("storage-root-add"), {"uri": f"{tree}/link", "kind": "checkpoints", "enabled": "on"}
    )
    assert answer.status_code == 200 and "the same directory" in answer.content.decode()
    assert StorageRoot.objects.count() == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("beside",),
        ("not-there-yet",),
        ("s3://bucket/flink",),
        ("s3://bucket/flink", "--read-at", "beside"),
    ],
)
def test_another_directory_is_another_root(tree: Path, arguments: tuple[str, ...]) -> None:
    call_command(
        "add_storage_root",
        *(
            word if "//" in word or word.startswith("--") else str(tree / word)
            for word in arguments
        ),
    )
    assert StorageRoot.objects.count() == 2


def test_a_root_that_has_two_names_already_can_still_be_paused(tree: Path) -> None:
    one = root(f"file:{tree}/link")
    one.enabled = False
    save(one, [])
    assert not StorageRoot.objects.get(pk=one.pk).enabled
    one.read_at = str(tree / "ckpt")
    with pytest.raises(ValidationError, match="the same directory"):
        save(one, [])


@pytest.fixture
def audited():
    root(attested_at="2026-03-01T00:00:00Z", attested_name="olga")
    of = audit(files_kept=True)
    root_figures(of, cleanable=False, not_cleanable=["two_names", "in_doubt"], doubts=1)
    doubt(
        of,
        reason="two_names",
        subject=ROOT,
        detail=f"It is the same directory as {OTHER}: declare one name.",
    )
    return of


def test_the_page_of_a_root_names_the_other_directory(audited, viewer) -> None:
    page = " ".join(viewer.get(reverse("storage-root"), {"uri": ROOT}).content.decode().split())
    assert "one directory with another root" in page and f"same directory as {OTHER}" in page


def test_a_plan_withholds_the_root_and_names_the_other_directory(audited) -> None:
    planned, (withheld,) = sort_roots(audited, [ROOT])
    assert not planned and f"same directory as {OTHER}" in " ".join(withheld.reasons)
