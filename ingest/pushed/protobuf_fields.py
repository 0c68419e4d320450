"""Reads protobuf level by level: repeated fields are counted before they are decoded, since an
empty message of two bytes then takes a hundred.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

from ingest.pushed.bounds import Count

KEPT_DEPTH = 60
"""Deeper fields are left empty, since decoders refuse messages of more than 100 levels."""
MAX_UNCOUNTED_BYTES = 64 * 1024
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5
_NUMBER = re.compile(rb"[\x80-\xff]{0,9}[\x00-\x7f]")


def tag_of(number: int, *, is_number: bool = False) -> int:
    return number << 3 | (_VARINT if is_number else _LENGTH)


def fields(body: bytes, parts: Count) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(body):
        parts.add()
        tag, begins, at = _field(body, at, len(body))
        yield tag, body[begins:at]


def contents(body: bytes, tag: int, parts: Count) -> Iterator[bytes]:
    return (content for field_tag, content in fields(body, parts) if field_tag == tag)


def message_of(content: bytes, kind: Any, parts: Count) -> Any:
    """Raises ``DecodeError`` or ``ValueError``."""
    if len(content) <= MAX_UNCOUNTED_BYTES:
        with suppress(DecodeError):
            return kind.FromString(content)
    return kind.FromString(
        b"".join(_readable(content, 0, len(content), kind.DESCRIPTOR, 0, parts)[0])
    )


def _readable(
    body: bytes, at: int, end: int, descriptor: Descriptor, depth: int, parts: Count
) -> tuple[list[bytes], int]:
    """Pieces and length of the message, with U+FFFD for invalid UTF-8, without deep fields."""
    parts.add()
    pieces: list[bytes] = []
    length = 0
    while at < end and depth <= KEPT_DEPTH:
        parts.add()
        start = at
        tag, begins, at = _field(body, start, end)
        if tag & 7 == _LENGTH:
            content, content_length = _content(
                body, begins, at, descriptor.fields_by_number.get(tag >> 3), depth, parts
            )
            head = _as_varint(tag) + _as_varint(content_length)
            pieces += (head, *content)
            length += len(head) + content_length
        else:
            pieces.append(body[start:at])
            length += at - start
    return pieces, length


def _content(
    body: bytes, at: int, end: int, field: FieldDescriptor | None, depth: int, parts: Count
) -> tuple[list[bytes], int]:
    if field is not None and field.type == FieldDescriptor.TYPE_MESSAGE:
        return _readable(body, at, end, field.message_type, depth + 1, parts)
    content = body[at:end]
    if field is not None and field.type == FieldDescriptor.TYPE_STRING:
        content = content.decode("utf-8", "replace").encode()
    return [content], len(content)


def _field(body: bytes, at: int, end: int) -> tuple[int, int, int]:
    """The tag, and where the content begins and ends."""
    tag, begins = _number(body, at, end)
    kind = tag & 7
    if kind == _LENGTH:
        length, begins = _number(body, begins, end)
        ends = begins + length
    elif kind == _VARINT:
        match = _NUMBER.match(body, begins, end)
        ends = match.end() if match else end + 1
    elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
        ends = begins + (8 if kind == _EIGHT_BYTES else 4)
    else:
        raise ValueError("it holds a kind of field that is none")
    if ends > end:
        raise ValueError("it is cut off")
    return tag, begins, ends


def _number(body: bytes, at: int, end: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 35, 7):
        if at >= end:
            break
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
    raise ValueError("a number in it has no end")


def _as_varint(number: int) -> bytes:
    varint = bytearray()
    while number > 0x7F:
        varint.append(number & 0x7F | 0x80)
        number >>= 7
    varint.append(number)
    return bytes(varint)
