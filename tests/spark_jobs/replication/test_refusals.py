"""Where nothing is ever written: in the storage that checkpoints are in, in other copies, in
directories of other people.
"""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.errors import Refused
from spark_jobs.replication.request import Request
from spark_jobs.replication.round import replicate
from tests.spark_jobs.replication.worlds import JOB, World, tree_digest


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, random.Random(1))
    world.checkpoint()
    return world


@pytest.mark.parametrize(
    "destination",
    [
        "{root}",
        "{root}/copy",
        "{root}/" + JOB,
        "{root}/..",
        "/",
        "{root}/../origin/x",
        "file://{root}/copy",
        "{link}/new/copy",
    ],
)
def test_a_destination_that_overlaps_the_origin_is_refused(world: World, destination: str) -> None:
    link = world.folder / "link"
    link.symlink_to(world.root)
    before = tree_digest(world.folder)
    with pytest.raises(Refused, match="is taken"):
        replicate(
            replace(world.request, destination=destination.format(root=world.root, link=link))
        )
    assert tree_digest(world.folder) == before


def test_a_destination_is_refused_by_the_place_where_it_is_read_as_well(world: World) -> None:
    with pytest.raises(Refused, match="is taken"):
        replicate(
            replace(world.request, destination="s3://copies/one", read_at=f"{world.root}/copy")
        )
    with pytest.raises(Refused, match="is taken"):
        replicate(
            replace(
                world.request,
                roots=(*world.request.roots, ("s3://copies", None)),
                destination="s3a://copies/one",
                read_at="/x",
            )
        )


def test_a_source_below_no_registered_root_is_refused(world: World) -> None:
    with pytest.raises(Refused, match="below no registered storage root that this copy may read"):
        replicate(replace(world.request, roots=((f"file:{world.folder}/other", None),)))


def test_a_checkpoint_that_needs_files_below_no_registered_root_is_refused(world: World) -> None:
    only = ((f"file:{world.root}/{JOB}", None),)
    while not any(JOB not in path.parts for path in world.shared):
        world.checkpoint()
    with pytest.raises(Exception, match="below no registered storage root that this copy may read"):
        replicate(replace(world.request, roots=only))


def test_a_directory_of_others_is_refused_and_left_alone(world: World) -> None:
    world.copy.mkdir(parents=True)
    (world.copy / "file").write_text("x")
    with pytest.raises(Refused, match="no copy of Weir"):
        replicate(world.request)
    assert [path.name for path in world.copy.iterdir()] == ["file"]


def test_the_copy_of_another_job_is_refused(world: World) -> None:
    replicate(world.request)
    with pytest.raises(Refused, match="holds another copy"):
        replicate(replace(world.request, replica="copy-2"))


def test_a_link_within_the_copy_leads_nowhere(world: World) -> None:
    replicate(world.request)
    world.checkpoint()
    folder = world.copy / JOB / f"chk-{world.newest}"
    folder.symlink_to(world.root / JOB)
    before = tree_digest(world.root)
    with pytest.raises(Exception, match="is a link"):
        replicate(world.request)
    assert tree_digest(world.root) == before


def test_a_request_is_read_as_it_was_written(world: World) -> None:
    request = replace(world.request, aliases=(("s3://a", "s3://b"),))
    assert Request.of(request.text()) == request
    with pytest.raises(Refused, match="no request"):
        Request.of('{"replica": 1}')
