"""One sort of entry in the files."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, ClassVar

from django.db import models

from webapp.config import encryption
from webapp.lib.matchers import MOST_MATCHERS, Matcher, parse_lines

Entry = dict[str, Any]
"""An entry of a file, or the entry that a file would have for a row. Values that are the default
are left out. Secrets are references (:mod:`webapp.site.declared.secrets`).
"""

NAME: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": 100}
MATCHERS: dict[str, Any] = {
    "type": "array",
    "items": {"type": "string"},
    "maxItems": MOST_MATCHERS,
    "description": 'such as cluster="prod-eu"; all must match; an empty list matches everything',
}
_JSON_TYPES: dict[type[Any], str] = {
    models.BooleanField: "boolean",
    models.IntegerField: "integer",
    models.FloatField: "number",
}


class Kind(ABC):
    """``name``: a key of :data:`webapp.site.declared.names.MODEL_OF`; ``columns``: of the model, that
    files state; ``properties`` and ``required``: JSON Schema of an entry; ``secret_columns``: field
    of a secret → its column; ``generated_secrets``: fields of those that Weir makes, and keeps, if
    the file states none.
    """

    name: ClassVar[str]
    columns: ClassVar[frozenset[str]]
    required: ClassVar[tuple[str, ...]]
    secret_columns: ClassVar[Mapping[str, str]] = {}
    generated_secrets: ClassVar[frozenset[str]] = frozenset()

    @cached_property
    @abstractmethod
    def properties(self) -> dict[str, dict[str, Any]]: ...

    @abstractmethod
    def rows(self) -> Any:
        """The query of rows that a file can state."""

    def key(self, entry: Entry) -> str:
        """What identifies the entry among those of its kind: by default its first required field."""
        return str(entry[self.required[0]])

    @abstractmethod
    def entry(self, row: Any) -> Entry:
        """Without secrets."""

    @abstractmethod
    def write(self, row: Any | None, entry: Entry, secrets: Mapping[str, str]) -> list[str]:
        """Create the row, or change ``row`` to what the entry says. Returns lines to print. Raises
        ``ActionRefused`` or ``ValidationError``.
        """

    def is_over(self, entry: Entry) -> bool:
        """Whether the entry has no row any more, whatever its file says."""
        return False

    def remove(self, row: Any) -> None:
        row.delete()

    def secrets(self, row: Any) -> dict[str, str]:
        """Field → stored secret as plain text, of those that are stored."""
        return {
            name: encryption.decrypt(getattr(row, column))
            for name, column in self.secret_columns.items()
            if getattr(row, column)
        }

    def normalised(self, entry: Entry) -> Entry:
        """The entry in the spelling of :meth:`entry`; defaults may stay. Raises ``ActionRefused``."""
        return entry

    def without_defaults(self, entry: Entry) -> Entry:
        return {
            name: value
            for name, value in entry.items()
            if value != self.properties[name].get("default") and value is not None
        }


def parsed_matchers(entry: Entry) -> tuple[Matcher, ...]:
    """Raises ``ActionRefused``."""
    return parse_lines("\n".join(entry.get("matchers", ())))


def matcher_texts(matchers: Iterable[Matcher]) -> list[str]:
    """As an entry has them."""
    return [str(matcher) for matcher in matchers]


def property_of(field: Any) -> dict[str, Any]:
    """JSON Schema of a model's field, with its default, limits and meaning."""
    schema: dict[str, Any] = {"description": str(field.help_text or field.verbose_name)}
    if isinstance(field, models.JSONField):
        if field.get_default() == {}:
            schema |= {"type": "object", "additionalProperties": {"type": "string"}}
        else:
            schema |= {"type": "array", "items": {"type": "string"}}
    else:
        schema["type"] = next(
            (name for kind, name in _JSON_TYPES.items() if isinstance(field, kind)), "string"
        )
    if field.choices:
        schema["enum"] = [value for value, _label in field.choices]
    elif field.max_length:
        schema["maxLength"] = field.max_length
    return schema if field.null else schema | {"default": field.get_default()}
