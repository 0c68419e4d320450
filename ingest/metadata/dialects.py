"""The format versions of ``_metadata``, and the releases that differ within a version.

=======  =====================  ==========================
version  written by             what is new
=======  =====================  ==========================
2        1.3 to 1.10            paddings that were dropped later; absolute paths only
3        1.11 to 1.15           coordinator and channel state; finished tasks from 1.14 on
4        1.16 to 1.20           properties of the checkpoint at the end
5        2.0                    name and uid of each operator
6        2.1 to 2.3             a type byte before each channel state; merged channel states
7        development after 2.3  each subtask may name the checkpoint its state is from
=======  =====================  ==========================

Version 3 was written in three ways, which the header does not distinguish: they are tried in turn;
the one that ends at the end of the file is right.

A new handle is a function, and its tag in the registry of ``streams``, ``keyed`` or ``walk``.
Increase ``READER_VERSION`` if the same bytes are now read differently. Test with bytes written by
hand, and compare with Flink's own loader.
"""

from dataclasses import dataclass
from enum import Enum

from ingest.errors import Skipped
from ingest.messages import message


class MetadataError(Skipped):
    """``position``: bytes from the start of the file. ``reason``: what is there."""

    def __init__(self, position: int, reason: str) -> None:
        self.position = position
        super().__init__(
            message("at byte {position:count}: {reason:text}", position=position, reason=reason)
        )


class IncompleteMetadata(MetadataError):
    pass


class DamagedMetadata(MetadataError):
    pass


class UnsupportedMetadata(MetadataError):
    pass


MAGIC = 0x4960672D


class ChannelLayout(Enum):
    WITHOUT_SUBTASK = "1.11"
    WITH_SUBTASK = "1.12 to 2.0"
    TYPED = "2.1 and later"


@dataclass(frozen=True, slots=True)
class Dialect:
    """``name``: for messages. ``old_changelog``: handles have no size, id and materialization."""

    version: int
    name: str
    channels: ChannelLayout | None = ChannelLayout.WITH_SUBTASK
    coordinators: bool = True
    paddings: bool = False
    finished_tasks: bool = True
    operator_names: bool = False
    properties: bool = True
    origins: bool = False
    old_changelog: bool = False


_V3_1_15 = Dialect(3, message("1.12 to 1.15"), properties=False)
_V3_1_14 = Dialect(3, "1.14", properties=False, old_changelog=True)
_V3_1_11 = Dialect(3, "1.11", properties=False, channels=ChannelLayout.WITHOUT_SUBTASK)

DIALECTS: dict[int, tuple[Dialect, ...]] = {
    2: (
        Dialect(
            2,
            message("1.3 to 1.10"),
            channels=None,
            coordinators=False,
            paddings=True,
            finished_tasks=False,
            properties=False,
        ),
    ),
    3: (_V3_1_15, _V3_1_14, _V3_1_11),
    4: (Dialect(4, message("1.16 to 1.20")),),
    5: (Dialect(5, "2.0", operator_names=True),),
    6: (Dialect(6, message("2.1 to 2.3"), operator_names=True, channels=ChannelLayout.TYPED),),
    7: (
        Dialect(
            7,
            message("newer than 2.3"),
            operator_names=True,
            channels=ChannelLayout.TYPED,
            origins=True,
        ),
    ),
}
