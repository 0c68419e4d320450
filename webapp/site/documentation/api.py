"""Every operation of the API, from its OpenAPI document."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from webapp.site.documentation.markdown import plain, table

INTRODUCTION = """# API

The API is below `/api/v1/` and answers with JSON. Send a token: `Authorization: Bearer weir_…`
(from `manage.py create_token USER`, or *Account* in the dashboard). The OpenAPI document, with the
schema of each answer, is at `/api/v1/schema/`. Lists have `results`, and the addresses of the `next`
and `previous` page. An error is `{"error": {"code": …, "message": …}}`. For an invalid parameter, the
message names the parameter, its value and the accepted values.
"""
METHODS = ("get", "post", "put", "patch", "delete")


def pages() -> dict[str, str]:
    generator: Any = SchemaGenerator
    document: dict[str, Any] = generator().get_schema(request=None, public=True)
    parts = [INTRODUCTION.strip()]
    for section, paths in groupby(
        sorted(document["paths"].items()),
        key=lambda item: item[0].removeprefix("/api/v1/").partition("/")[0],
    ):
        rows = [row for path, operations in paths for row in _rows(path, operations)]
        parts.append(
            f"## {section}\n\n{table(('operation', 'what it does', 'parameters', 'answers'), rows)}"
        )
    return {"reference/api.md": "\n\n".join(parts) + "\n"}


def _rows(path: str, operations: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for method in METHODS:
        if operation := operations.get(method):
            parameters = [
                f"`{parameter['name']}`"
                for parameter in operation.get("parameters", ())
                if parameter["in"] == "query"
            ]
            summary = (
                operation.get("summary")
                or operation.get("description", "").strip().partition("\n\n")[0]
            )
            yield (
                f"`{method.upper()} {path}`",
                plain(summary) or "–",
                ", ".join(parameters) or "–",
                ", ".join(operation["responses"]),
            )
