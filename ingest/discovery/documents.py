"""Decodes documents of service discovery within bounds: JSON, and YAML without aliases."""

from typing import Any

import yaml

from ingest.errors import Skipped
from ingest.json_bounds import TooManyValues, decoded
from ingest.messages import message

MAX_BYTES = 8 * 1024 * 1024
"""10,000 clusters with a dozen labels take 5 MB."""
MAX_VALUES = 500_000
MAX_DEPTH = 16

_OPENS = (yaml.MappingStartEvent, yaml.SequenceStartEvent)
_CLOSES = (yaml.MappingEndEvent, yaml.SequenceEndEvent)


def from_json(content: bytes) -> Any:
    """Raises ``Skipped``."""
    try:
        return decoded(content, MAX_VALUES)[0]
    except TooManyValues as error:
        raise Skipped(message("it was not read: {error:text}", error=str(error))) from error
    except (ValueError, RecursionError) as error:
        raise Skipped(message("it is not a complete JSON document")) from error


def from_yaml(content: bytes, loader: Any = yaml.CSafeLoader) -> Any:
    """Raises ``Skipped``. Events are checked first: nested aliases turn a line into gigabytes.
    ``loader`` is a safe one.
    """
    depth = values = 0
    try:
        for event in yaml.parse(content, Loader=yaml.CSafeLoader):
            values += 1
            depth += isinstance(event, _OPENS) - isinstance(event, _CLOSES)
            if isinstance(event, yaml.AliasEvent):
                raise Skipped(
                    message("it holds a YAML alias (*), which is not read: write the values out")
                )
            if depth > MAX_DEPTH or values > MAX_VALUES:
                raise Skipped(
                    message(
                        "it is deeper than {max_depth:number} levels or holds more than "
                        "{max_values:count} values, and was not read",
                        max_depth=MAX_DEPTH,
                        max_values=MAX_VALUES,
                    )
                )
        return yaml.load(content, Loader=loader)  # noqa: S506
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = message(" at line {line:name}", line=str(mark.line + 1)) if mark else ""
        raise Skipped(message("it is not YAML{where:message}", where=where)) from error
    except (ValueError, RecursionError) as error:  # such as a date that no calendar has
        raise Skipped(message("it is not YAML: a value in it cannot be read")) from error
