"""The end of a ``_metadata`` since 1.16: a serialised Java object with the kind of checkpoint."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, TypeVar

from ingest.messages import message
from ingest.metadata.dialects import DamagedMetadata, UnsupportedMetadata
from ingest.metadata.pieces import Properties
from ingest.metadata.window import Window

_NULL = 0x70
_REFERENCE = 0x71
_CLASS = 0x72
_OBJECT = 0x73
_STRING = 0x74
_END_OF_BLOCK = 0x78
_ENUM = 0x7E
_FIRST_HANDLE = 0x7E0000
_WRITE_METHOD, _SERIALIZABLE = 0x01, 0x02
_PRIMITIVES = {
    code: Struct(f">{code_of}") for code, code_of in zip("BCDFIJSZ", "bHdfiqh?", strict=True)
}
_MOST_NESTED = 16


@dataclass(slots=True)
class JavaObject:
    """``fields`` by name; an enum constant is an object with the one field ``constant``."""

    class_name: str
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Class:
    name: str
    flags: int = 0
    fields: list[tuple[str, str]] = field(default_factory=list)
    parent: "_Class | None" = None


_T = TypeVar("_T")


class JavaStream:
    """Reads the content of one stream."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._handles: list[Any] = []
        self._depth = 0

    def read(self) -> JavaObject:
        at = self._window.take(4, message("the start of the checkpoint's properties"))
        start = self._window.data[at : at + 4]
        if start != b"\xac\xed\x00\x05":
            raise self._window.damaged(
                4,
                message("the checkpoint's properties (AC ED 00 05)"),
                start.hex(" "),
            )
        position = self._window.position
        value = self._value()
        if not isinstance(value, JavaObject):
            raise DamagedMetadata(
                position, message("the checkpoint's properties as an object"), type(value).__name__
            )
        return value

    def _value(self) -> Any:
        tag = self._byte()
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            return self._read_reference()
        if tag == _STRING:
            return self._remember(
                self._window.text(message("a text in the checkpoint's properties"))
            )
        if tag not in (_OBJECT, _ENUM):
            raise self._unsupported(message("a value in the checkpoint's properties"), tag)
        with self._nested():
            return self._object() if tag == _OBJECT else self._enum()

    @contextmanager
    def _nested(self) -> Iterator[None]:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise DamagedMetadata(
                self._window.position,
                message(
                    "at most {most_nested:number} objects and classes in each other",
                    most_nested=_MOST_NESTED,
                ),
                message("more"),
            )
        yield
        self._depth -= 1

    def _object(self) -> JavaObject:
        class_ = self._class(message("an object's class"))
        made = self._remember(JavaObject(class_.name))
        for level in _lineage(class_):
            if not level.flags & _SERIALIZABLE:
                raise self._unsupported(message("a class with default serialisation"), level.flags)
            for code, name in level.fields:
                made.fields[name] = self._field(code)
            if level.flags & _WRITE_METHOD:
                self._end_of_block()
        return made

    def _enum(self) -> JavaObject:
        class_ = self._class(message("an enum's class"))
        made = self._remember(JavaObject(class_.name))
        made.fields["constant"] = self._value()
        return made

    def _field(self, code: str) -> Any:
        primitive = _PRIMITIVES.get(code)
        if primitive is None:
            return self._value()
        at = self._window.take(primitive.size, message("a field of the checkpoint's properties"))
        if code == "Z" and self._window.data[at] > 1:
            raise self._window.damaged(
                1,
                message("a boolean of the checkpoint's properties"),
                str(self._window.data[at]),
            )
        return primitive.unpack_from(self._window.data, at)[0]

    def _class(self, expected: str) -> _Class:
        position = self._window.position
        class_ = self._class_or_none()
        if class_ is None:
            raise DamagedMetadata(position, expected, message("none"))
        return class_

    def _class_or_none(self) -> _Class | None:
        tag = self._byte()
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            known = self._read_reference()
            if not isinstance(known, _Class):
                raise self._unsupported(message("a class"), tag)
            return known
        if tag != _CLASS:
            raise self._unsupported(message("a class"), tag)
        window = self._window
        name = window.text(message("the name of a class"))
        window.skip(8, message("the serialVersionUID of a class"))
        class_ = self._remember(_Class(name))
        class_.flags = window.byte(message("the flags of a class"))
        at = window.take(2, message("the number of fields of a class"))
        count = int.from_bytes(window.data[at : at + 2], "big")
        class_.fields = [self._read_declared_type() for _ in range(count)]
        self._end_of_block()
        with self._nested():
            parent = self._class_or_none()
        if any(level is class_ for level in _lineage(parent)):
            raise DamagedMetadata(
                window.position, message("a class above another"), message("the class itself")
            )
        class_.parent = parent
        return class_

    def _read_declared_type(self) -> tuple[str, str]:
        code = chr(self._byte())
        if code not in "BCDFIJSZL[":
            raise self._unsupported(message("the type of a field"), ord(code))
        name = self._window.text(message("the name of a field"))
        if code in "L[":
            self._value()
        return code, name

    def _end_of_block(self) -> None:
        tag = self._byte()
        if tag != _END_OF_BLOCK:
            raise self._unsupported(message("the end of a block"), tag)

    def _read_reference(self) -> Any:
        number = self._window.int32(message("a reference")) - _FIRST_HANDLE
        if not 0 <= number < len(self._handles):
            raise self._window.damaged(
                4,
                message("a reference to something before it"),
                str(number),
            )
        return self._handles[number]

    def _remember(self, value: _T) -> _T:
        self._handles.append(value)
        return value

    def _byte(self) -> int:
        return self._window.byte(message("the checkpoint's properties"))

    def _unsupported(self, expected: str, version: int) -> UnsupportedMetadata:
        return self._window.unsupported(1, expected, f"0x{version:02x}")


def _lineage(class_: _Class | None) -> list[_Class]:
    levels = []
    while class_ is not None:
        levels.append(class_)
        class_ = class_.parent
    return levels[::-1]


_PACKAGE = "org.apache.flink.runtime.checkpoint."
_TYPES = ("CheckpointType", "SavepointType")


def read_properties(window: Window) -> Properties:
    position = window.position
    written = JavaStream(window).read()
    type_ = written.fields.get("checkpointType")
    if written.class_name != f"{_PACKAGE}CheckpointProperties" or not isinstance(type_, JavaObject):
        raise DamagedMetadata(
            position,
            "an object CheckpointProperties with a checkpointType",
            written.class_name[:100],
        )
    type_class = type_.class_name.removeprefix(_PACKAGE)
    name, format_ = type_.fields.get("name"), type_.fields.get("formatType")
    if type_class not in _TYPES or not isinstance(name, str):
        raise DamagedMetadata(
            position, f"a type of checkpoint ({' or '.join(_TYPES)})", type_class[:100]
        )
    constant = format_.fields.get("constant") if isinstance(format_, JavaObject) else None
    return Properties(name, constant if isinstance(constant, str) else None)
