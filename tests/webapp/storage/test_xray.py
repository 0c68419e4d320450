"""X-rays of real checkpoints, and of what cannot be read."""

import gzip
import shutil
from pathlib import Path

import pytest
from django.urls import reverse

from ingest.metadata.files import MetadataFile
from tests.ingest.metadata.summary import summarise
from tests.storage_trees import RecordedTree, lay_out
from tests.webapp.storage.builders import audit, checkpoint_storage, root, root_figures
from webapp.storage.models import StorageRoot
from webapp.storage.xray import location, xray_reader

METADATA = Path(__file__).parents[2] / "fixtures" / "metadata"
RECORDED = sorted(path.name.removesuffix(".metadata.gz") for path in METADATA.glob("*.metadata.gz"))
CLAIM_3 = "ckpt/0e0a9226e66450b804703de8c16027eb"


def recorded(name: str, tmp_path: Path) -> MetadataFile:
    target = tmp_path / "_metadata"
    with gzip.open(METADATA / f"{name}.metadata.gz") as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)
    return MetadataFile(str(target), target.stat().st_size)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> RecordedTree:
    """The restore chains of a real cluster."""
    return lay_out("1.20.5-H", tmp_path_factory.mktemp("H"))


@pytest.fixture
def registered(db, tree) -> StorageRoot:
    return root(tree.root.uri, read_at=str(tree.directory))


@pytest.mark.parametrize("name", RECORDED)
def test_it_adds_up_to_what_the_reader_says_of_every_format(name, tmp_path):
    file = recorded(name, tmp_path)
    summary, xray = summarise(file.pieces(), file.directory), xray_reader.read(file)
    assert (xray.handles, xray.state_bytes, xray.checkpoint_id) == (
        summary.handles,
        summary.state_bytes,
        summary.header.checkpoint_id,
    )
    assert sum(operator.state_bytes for operator in xray.operators) == summary.state_bytes
    assert sum(directory.files for directory in xray.directories) == xray.files


def test_a_checkpoint_that_refers_into_another_job_is_neither_self_contained_nor_relocatable(
    registered, tree
):
    xray = xray_reader.read(location.find_metadata(f"{tree.root.uri}/{CLAIM_3}/chk-11"))
    assert (xray.self_contained, xray.relocatable, xray.foreign_files, xray.files) == (
        False,
        False,
        8,
        16,
    )
    assert [(directory.own, directory.files) for directory in xray.directories] == [
        (False, 8),
        (True, 8),
    ]


def test_a_savepoint_is_self_contained_and_relocatable(tmp_path):
    name = next(name for name in RECORDED if "-sp-" in name and name.startswith("1.20.5-G"))
    xray = xray_reader.read(recorded(name, tmp_path))
    assert (xray.self_contained, xray.relocatable, xray.is_savepoint) == (True, True, True)


def test_union_state_is_read_by_every_subtask_at_a_restore(tmp_path):
    xray = xray_reader.read(recorded("1.20.5-L2-27f570-chk-4", tmp_path))
    union = next(state for state in xray.states if state.mode == "UNION")
    operator = next(
        operator for operator in xray.operators if operator.operator_id == union.operator_id
    )
    split = next(state for state in xray.states if state.mode == "SPLIT_DISTRIBUTE")
    assert union.restore_bytes == operator.parallelism * union.handle_bytes
    assert split.restore_bytes == split.handle_bytes


def test_a_file_larger_than_allowed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(xray_reader, "MOST_HANDLES", 3)
    with pytest.raises(xray_reader.TooLarge, match="more than 3 handles"):
        xray_reader.read(recorded("1.20.5-A-3ba422-chk-1", tmp_path))


def test_nothing_outside_registered_roots_is_read(registered, tmp_path):
    with pytest.raises(location.NotLocated, match="no registered"):
        location.find_metadata("file:/etc/passwd")
    with pytest.raises(location.NotLocated):
        location.find_metadata(f"{registered.uri}/../../../../etc")


def test_a_link_out_of_a_root_is_not_followed(db, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "_metadata").write_bytes(b"x")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "chk-1").symlink_to(tmp_path / "outside")
    root(f"file:{tmp_path}/root")
    with pytest.raises(location.NotLocated, match="is a link"):
        location.find_metadata(f"file:{tmp_path}/root/chk-1")


def test_the_page_shows_state_files_and_whom_it_needs(viewer, registered, tree):
    path = f"{tree.root.uri}/{CLAIM_3}/chk-11/_metadata"
    of = audit(roots=[tree.root.uri])
    root_figures(of, tree.root.uri)
    checkpoint_storage(
        of, 11, uri=tree.root.uri, metadata_path=path, resolvable=False, missing_files=16
    )
    page = viewer.get(reverse("storage-xray"), {"path": path}).content.decode()
    assert "◆ of another job" in page
    assert "16 files" in page


@pytest.mark.parametrize(
    ("path", "says"),
    [("chk-99", "not there any more"), ("../x", "no registered"), ("", "registered")],
)
def test_what_cannot_be_shown_says_why(viewer, registered, path, says):
    answer = viewer.get(reverse("storage-xray"), {"path": f"{registered.uri}/{path}"})
    assert answer.status_code == 404
    assert says in answer.content.decode() or path == ""


def test_a_damaged_file_is_told_with_its_position(viewer, db, tmp_path):
    (tmp_path / "chk-1").mkdir()
    (tmp_path / "chk-1" / "_metadata").write_bytes(b"\x49\x60\x67\x2d\x00\x00\x00\x04\x00")
    root(f"file:{tmp_path}")
    page = viewer.get(reverse("storage-xray"), {"path": f"file:{tmp_path}/chk-1"}).content.decode()
    assert "at byte 8" in page
