"""Documents as JSON and back: dataclasses become objects, tuples lists, instants ISO 8601 in UTC."""

import json
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from webapp.analyses.values import plain
from webapp.reports.document import VERSION, Document


class UnknownVersion(ValueError):
    """The document was made by another version of Weir and cannot be read by this one."""


def to_json(document: Document) -> str:
    """Indented, for people who open the file."""
    return json.dumps(plain(document), ensure_ascii=False, indent=1)


def from_plain(document: Any) -> Document:
    """Raises :class:`UnknownVersion`."""
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise UnknownVersion("This report was made by another version of Weir; make it again.")
    made: Document = _made(Document, document)
    return made


def _made(kind: Any, value: Any) -> Any:
    """``value`` as ``kind``; fields that this version does not know are left out."""
    if value is None:
        return None
    origin, of = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _made(next(one for one in of if one is not type(None)), value)
    if origin is tuple:
        kinds = [of[0]] * len(value) if of[-1] is Ellipsis else of
        return tuple(_made(one, item) for one, item in zip(kinds, value, strict=True))
    if is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(
            **{name: _made(hints[name], item) for name, item in value.items() if name in hints}
        )
    if kind is datetime:
        return datetime.fromisoformat(value)
    return value


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
