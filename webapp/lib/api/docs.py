"""The API on one page, made from its own schema, without any foreign script."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET
from drf_spectacular.generators import SchemaGenerator


@require_GET
def docs(request: HttpRequest) -> HttpResponse:
    generator: Any = SchemaGenerator
    schema = generator().get_schema(request=None, public=True)
    return render(
        request,
        "api/docs.html",
        {
            "operations": list(_operations(schema)),
            "root": request.build_absolute_uri("/").rstrip("/"),
        },
    )


def _operations(schema: dict[str, Any]) -> Any:
    components = schema["components"]["schemas"]
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            good: dict[str, Any] = next(
                (
                    answer
                    for code, answer in sorted(operation["responses"].items())
                    if code.startswith("2")
                ),
                {},
            )
            content = good.get("content", {}).get("application/json", {}).get("schema", {})
            if "summary" in operation:
                yield {
                    "method": method.upper(),
                    "path": path,
                    "summary": operation["summary"],
                    "parameters": operation.get("parameters", ()),
                    "fields": _fields(content, components),
                }


def _fields(content: dict[str, Any], components: dict[str, Any]) -> list[dict[str, str]]:
    """Fields of a row; a list answers them below ``results``."""
    schema = _resolved(content, components)
    results = schema.get("properties", {}).get("results")
    if results:
        schema = _resolved(results.get("items", {}), components)
    return [
        {
            "name": name,
            "type": _resolved(field, components).get("type", "any"),
            "about": field.get("description", ""),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _resolved(schema: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref", "") or next(
        (part.get("$ref", "") for part in schema.get("allOf", ())), ""
    )
    component: dict[str, Any] = components[reference.rsplit("/", 1)[-1]] if reference else schema
    return component
