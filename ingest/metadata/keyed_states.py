"""The keyed states of an operator, and whether they expire. A backend describes them before its
state (``StateMetaInfoSnapshotReadersWriters``). Descriptions have no length, so each is found by an
option that all have. A state that expires has ``TtlStateFactory$TtlSerializer``, which some
releases wrap in ``TtlAwareSerializer``.
"""

import re
from struct import Struct
from typing import NamedTuple

from ingest.metadata.window import decode

MOST_BYTES = 1 << 20
_LENGTH = Struct(">H").unpack_from
_KIND = re.compile(rb"\x00\x10KEYED_STATE_TYPE\x00[\x01-\x40]([A-Z_]+)")
_FIXED_BYTES = 8
_PACKAGE = rb"org\.apache\.flink\.runtime\.state\.ttl\."
_EXPIRES = re.compile(
    _PACKAGE + rb"(?:TtlStateFactory\$TtlSerializerSnapshot|TtlAwareSerializerSnapshot.{4}\x01)",
    re.DOTALL,
)


class DescribedState(NamedTuple):
    """``kind``: VALUE, LIST, MAP, REDUCING, AGGREGATING…"""

    name: str
    kind: str
    expires: bool


def described_states(content: bytes) -> list[DescribedState]:
    matches = [
        (name[1], name[0], match)
        for match in _KIND.finditer(content)
        if (name := _name_before(content, match.start() - _FIXED_BYTES))
    ]
    ends = [*(begin for begin, _, _ in matches), len(content)][1:]
    return [
        DescribedState(
            name, match[1].decode("ascii"), _EXPIRES.search(content, match.end(), end) is not None
        )
        for (_, name, match), end in zip(matches, ends, strict=True)
    ]


def _name_before(content: bytes, end: int) -> tuple[str, int] | None:
    """The text that ends at ``end``, and where its length field begins. The field begins with a
    zero byte, which texts of Java do not contain.
    """
    for size in range(1, min(end - 1, 255)):
        begin = end - size
        if _LENGTH(content, begin - 2)[0] == size:
            try:
                return decode(content[begin:end]), begin - 2
            except UnicodeDecodeError:
                return None
    return None
