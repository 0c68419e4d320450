"""The end of a ``_metadata`` since 1.16: a Java object that says what kind of checkpoint it is and
who deletes it when.
"""

from ingest.metadata.errors import DamagedMetadata
from ingest.metadata.java_stream import JavaObject, JavaStream
from ingest.metadata.pieces import Properties
from ingest.metadata.window import Window

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
    name = type_.fields.get("name")
    if type_class not in _TYPES or not isinstance(name, str):
        raise DamagedMetadata(
            position, f"a type of checkpoint ({' or '.join(_TYPES)})", type_class[:100]
        )
    return Properties(
        type_class=type_class,
        name=name,
        flags={
            key: value for key, value in sorted(written.fields.items()) if isinstance(value, bool)
        },
        sharing=_constant(type_, "sharingFilesStrategy"),
        savepoint_format=_constant(type_, "formatType"),
        post_action=_constant(type_, "postCheckpointAction"),
    )


def _constant(type_: JavaObject, name: str) -> str | None:
    value = type_.fields.get(name)
    constant = value.fields.get("constant") if isinstance(value, JavaObject) else None
    return constant if isinstance(constant, str) else None
