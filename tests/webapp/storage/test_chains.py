"""Names of jobs fit their boxes in the picture of chains."""

import pytest

from webapp.storage import chains
from webapp.storage.models import ChainLink, JobStorage

NEEDED, NEEDS = "a" * 32, "b" * 32


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("clickstream", "clickstream"),
        ("n" * 22, "n" * 22),
        ("n" * 60, "n" * 21 + "…"),
        ("订" * 11, "订" * 11),
        ("订" * 30, "订" * 10 + "…"),
    ],
)
def test_a_long_name_is_cut_by_the_columns_it_takes(name: str, shown: str) -> None:
    link = ChainLink(
        directory=NEEDS, other_directory=NEEDED, kind="refers", files=1, bytes=1, checkpoints=1
    )
    drawn = chains.drawn([link], [JobStorage(directory=NEEDED, job_name=name, bytes=1)])
    assert drawn is not None
    (box,) = [one for one in drawn.jobs if one.node.key == NEEDED]
    assert box.name == shown and name in box.words
