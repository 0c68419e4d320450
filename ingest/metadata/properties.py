"""Reads the end of a ``_metadata`` (1.16+): a serialised Java object with the checkpoint type."""

from dataclasses import dataclass, field
from struct import Struct
from typing import Any, TypeVar

from ingest.messages import message
from ingest.metadata.dialects import DamagedMetadata
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
_NESTED = message("objects and classes")
_NO_PROPERTIES = message("something else than the properties of a checkpoint")


@dataclass(slots=True)
class JavaObject:
    """``fields``: name → value. An enum constant has the single field ``constant``."""

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
    def __init__(self, window: Window) -> None:
        self._window = window
        self._handles: list[Any] = []

    def read(self) -> JavaObject:
        position = self._window.position
        at = self._window.take(4)
        is_stream = self._window.data[at : at + 4] == b"\xac\xed\x00\x05"
        value = self._value() if is_stream else None
        if not isinstance(value, JavaObject):
            raise DamagedMetadata(position, _NO_PROPERTIES)
        return value

    def _value(self) -> Any:
        tag = self._window.byte()
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            return self._read_reference()
        if tag == _STRING:
            return self._remember(self._window.text())
        if tag not in (_OBJECT, _ENUM):
            raise self._window.unknown_tag(tag)
        with self._window.nested(_NESTED):
            return self._object() if tag == _OBJECT else self._enum()

    def _object(self) -> JavaObject:
        class_ = self._class()
        java_object = self._remember(JavaObject(class_.name))
        for level in _lineage(class_):
            if not level.flags & _SERIALIZABLE:
                raise self._window.unknown_tag(level.flags)
            for code, name in level.fields:
                java_object.fields[name] = self._field(code)
            if level.flags & _WRITE_METHOD:
                self._end_of_block()
        return java_object

    def _enum(self) -> JavaObject:
        class_ = self._class()
        java_object = self._remember(JavaObject(class_.name))
        java_object.fields["constant"] = self._value()
        return java_object

    def _field(self, code: str) -> Any:
        primitive = _PRIMITIVES.get(code)
        if primitive is None:
            return self._value()
        at = self._window.take(primitive.size)
        if code == "Z" and self._window.data[at] > 1:
            raise self._window.wrong_number(1, self._window.data[at])
        return primitive.unpack_from(self._window.data, at)[0]

    def _class(self) -> _Class:
        position = self._window.position
        class_ = self._class_or_none()
        if class_ is None:
            raise DamagedMetadata(position, message("an object without a class"))
        return class_

    def _class_or_none(self) -> _Class | None:
        tag = self._window.byte()
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            class_ = self._read_reference()
            if not isinstance(class_, _Class):
                raise self._window.unknown_tag(tag)
            return class_
        if tag != _CLASS:
            raise self._window.unknown_tag(tag)
        window = self._window
        name = window.text()
        window.skip(8)  # serialVersionUID
        class_ = self._remember(_Class(name))
        class_.flags = window.byte()
        at = window.take(2)
        count = int.from_bytes(window.data[at : at + 2], "big")
        class_.fields = [self._read_declared_type() for _ in range(count)]
        self._end_of_block()
        with self._window.nested(_NESTED):
            parent = self._class_or_none()
        if any(level is class_ for level in _lineage(parent)):
            raise DamagedMetadata(window.position, message("a class that is its own parent"))
        class_.parent = parent
        return class_

    def _read_declared_type(self) -> tuple[str, str]:
        code = chr(self._window.byte())
        if code not in "BCDFIJSZL[":
            raise self._window.unknown_tag(ord(code))
        name = self._window.text()
        if code in "L[":
            self._value()
        return code, name

    def _end_of_block(self) -> None:
        tag = self._window.byte()
        if tag != _END_OF_BLOCK:
            raise self._window.unknown_tag(tag)

    def _read_reference(self) -> Any:
        number = self._window.int32() - _FIRST_HANDLE
        if not 0 <= number < len(self._handles):
            raise self._window.wrong_number(4, number)
        return self._handles[number]

    def _remember(self, value: _T) -> _T:
        self._handles.append(value)
        return value


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
    properties_object = JavaStream(window).read()
    type_ = properties_object.fields.get("checkpointType")
    if properties_object.class_name != f"{_PACKAGE}CheckpointProperties" or not isinstance(
        type_, JavaObject
    ):
        raise DamagedMetadata(position, _NO_PROPERTIES)
    type_class = type_.class_name.removeprefix(_PACKAGE)
    name, format_ = type_.fields.get("name"), type_.fields.get("formatType")
    if type_class not in _TYPES or not isinstance(name, str):
        raise DamagedMetadata(position, _NO_PROPERTIES)
    constant = format_.fields.get("constant") if isinstance(format_, JavaObject) else None
    return Properties(name, constant if isinstance(constant, str) else None)
