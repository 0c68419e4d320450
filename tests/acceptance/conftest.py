"""One home with every shipped recording, and one that got some of them in pieces, out of order and
again: for all tests.
"""

from collections.abc import Iterator

import pytest

from tests.acceptance.homes import IN_PIECES, NAMES, RECORDINGS, Instance, cluster_of, split


@pytest.fixture(scope="session")
def instance(tmp_path_factory: pytest.TempPathFactory, warm_spark: str) -> Iterator[Instance]:
    instance = Instance(tmp_path_factory.mktemp("weir"), warm_spark)
    instance.import_recordings(*((RECORDINGS / name, cluster_of(name)) for name in NAMES))
    instance.manage("run_pipeline")
    yield instance


@pytest.fixture(scope="session")
def out_of_order(tmp_path_factory: pytest.TempPathFactory, warm_spark: str) -> Iterator[Instance]:
    """The later parts first, then the earlier ones and the whole again."""
    folder = tmp_path_factory.mktemp("pieces")
    other = Instance(folder / "home", warm_spark)
    for name in IN_PIECES:
        split(
            RECORDINGS / name,
            folder / f"early-{cluster_of(name)}",
            folder / f"late-{cluster_of(name)}",
        )
    other.import_recordings(
        *((folder / f"late-{cluster_of(name)}", cluster_of(name)) for name in IN_PIECES)
    )
    other.manage("run_pipeline")
    other.import_recordings(
        *(
            (part, cluster_of(name))
            for name in IN_PIECES
            for part in (folder / f"early-{cluster_of(name)}", RECORDINGS / name)
        )
    )
    other.manage("run_pipeline")
    yield other
