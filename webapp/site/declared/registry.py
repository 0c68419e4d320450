"""All kinds of entries, in the order in which they are applied."""

from typing import Any

from webapp.site.declared.kind import Kind
from webapp.site.declared.kinds.clusters import Clusters
from webapp.site.declared.kinds.endpoints import Endpoints
from webapp.site.declared.kinds.objectives import Objectives
from webapp.site.declared.kinds.rule_settings import Rules, Thresholds
from webapp.site.declared.kinds.silences import Silences
from webapp.site.declared.kinds.storage_roots import StorageRoots
from webapp.site.declared.names import MODEL_OF

_BY_NAME: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Clusters(),
        StorageRoots(),
        Objectives(),
        Rules(),
        Thresholds(),
        Endpoints(),
        Silences(),
    )
}
KINDS = {name: _BY_NAME[name] for name in MODEL_OF}


def schema() -> dict[str, Any]:
    """JSON Schema of a file, for editors and for reading."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Weir's configuration",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            kind.name: {
                "type": "array",
                "items": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": [*kind.required],
                    "properties": kind.properties,
                },
            }
            for kind in KINDS.values()
        },
    }
