"""Protobuf whose texts are not UTF-8, or that is nested deeply, as shippers send what they did not look into: no decoder takes any of it.

Source: the encoding of protocol buffers; which fields are texts or messages is in the descriptor.
"""

from collections.abc import Iterator
from itertools import count
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError

KEPT_DEPTH = 60
"""Decoders take 100 levels; what is deeper than this is left empty, since they would take nothing of the message."""
MAX_FIELDS = 1_000_000
"""About a second; 16 MiB of log lines have some 300,000."""
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def message_of(body: bytes, kind: Any) -> Any:
    """A message of the class ``kind``. Raises ``DecodeError`` or ``ValueError`` where it is no such message."""
    message = kind()
    try:
        message.ParseFromString(body)
    except DecodeError:
        # Twice only for what is damaged.
        message = kind()
        message.ParseFromString(readable(body, kind.DESCRIPTOR))
    return message


def readable(body: bytes, descriptor: Descriptor) -> bytes:
    """The message with U+FFFD for what is no UTF-8 in its texts and nothing in what is too deep, otherwise as it was.

    Raises ``ValueError`` where it is no message, or has too many fields to look at each.
    """
    return _readable(body, descriptor, 0, count())


def _readable(body: bytes, descriptor: Descriptor, depth: int, fields: Iterator[int]) -> bytes:
    if depth > KEPT_DEPTH:
        return b""
    made, at = bytearray(), 0
    while at < len(body):
        if next(fields) >= MAX_FIELDS:
            raise ValueError("it has too many fields")
        begun = at
        tag, at = _varint(body, at)
        kind = tag & 7
        if kind == _LENGTH:
            length, begins = _varint(body, at)
            at = begins + length
            if at > len(body):
                raise ValueError("it is cut off")
            content = _content(body[begins:at], descriptor.fields_by_number.get(tag >> 3), depth, fields)
            made += _as_varint(tag) + _as_varint(len(content)) + content
            continue
        if kind == _VARINT:
            _, at = _varint(body, at)
        elif kind in (_EIGHT_BYTES, _FOUR_BYTES):
            at += 8 if kind == _EIGHT_BYTES else 4
        else:
            raise ValueError("it holds a kind of field that is none")
        if at > len(body):
            raise ValueError("it is cut off")
        made += body[begun:at]
    return bytes(made)


def _content(content: bytes, field: FieldDescriptor | None, depth: int, fields: Iterator[int]) -> bytes:
    if field is not None and field.type == FieldDescriptor.TYPE_STRING:
        return content.decode("utf-8", "replace").encode()
    if field is not None and field.type == FieldDescriptor.TYPE_MESSAGE:
        return _readable(content, field.message_type, depth + 1, fields)
    return content


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """The number, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(body):
            raise ValueError("it is cut off")
        byte = body[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return number, at
    raise ValueError("a number in it has no end")


def _as_varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
