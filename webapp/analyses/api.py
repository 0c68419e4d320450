"""Analyses over the API. The schema of an answer follows from the dataclasses of ``document``."""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest.messages import message
from webapp.analyses.declaration import Analysis, Subject
from webapp.analyses.document import Document, Inputs, Link, Table, public_fields
from webapp.analyses.inputs import inputs_for_fleet, inputs_for_job, inputs_for_root
from webapp.analyses.presentation import plain
from webapp.analyses.registry import all_analyses
from webapp.fleet.job_lookup import job_or_404
from webapp.lib.api.filtering import openapi_parameters, valid_filters
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import LongText
from webapp.storage.newest_audits import audited_or_404

ANY_VALUE = {"nullable": True, "description": "in the unit of its column or fact; null is unknown"}


class RootParameters(ListFilters):
    root = LongText(about=message("its canonical URI"))


def answer_data(analysis: Analysis, inputs: Inputs, document: Document) -> dict[str, Any]:
    header = {"analysis": analysis.name, "title": analysis.title, "as_of": plain(inputs.until)}
    return {**header, **plain(document)}


def schema_of(kind: Any) -> dict[str, Any]:
    origin, parts = get_origin(kind), get_args(kind)
    if kind is Link:
        return {"type": "string"}
    if origin is Literal:
        return {"type": "string", "enum": list(parts)}
    if origin in (Union, UnionType):
        options = [option for option in parts if option is not type(None)]
        if str in options:
            return dict(ANY_VALUE)
        if len(options) == 1:
            return {**schema_of(options[0]), "nullable": True}
        return {"oneOf": [schema_of(option) for option in options]}
    if origin is tuple:
        return {"type": "array", "items": schema_of(parts[0])}
    if is_dataclass(kind):
        return _object(kind)
    return {"type": {int: "integer", float: "number", bool: "boolean"}.get(kind, "string")}


def _object(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    properties = {field.name: schema_of(hints[field.name]) for field in public_fields(kind)}
    if kind is Table:
        row = {
            "type": "object",
            "additionalProperties": dict(ANY_VALUE),
            "description": "by the keys of the columns",
        }
        properties["rows"] = {"type": "array", "items": row}
    return {"type": "object", "properties": properties, "required": list(properties)}


def document_schema() -> dict[str, Any]:
    schema = schema_of(Document)
    texts = {
        "analysis": {"type": "string"},
        "title": {"type": "string"},
        "as_of": {"type": "string", "format": "date-time"},
    }
    return {
        "type": "object",
        "properties": {**texts, **schema["properties"]},
        "required": [*texts, *schema["required"]],
    }


def _arguments(request: Request, analysis: Analysis, **address: str) -> tuple[Any, ...]:
    """The subject of the analysis, none for the fleet, and ``Inputs``."""
    if analysis.subject == "fleet":
        return (inputs_for_fleet(valid_filters(analysis.parameters, request)),)
    if analysis.subject == "root":
        figures = audited_or_404(valid_filters(RootParameters, request).values.get("root", ""))
        return figures, inputs_for_root(figures, valid_filters(analysis.parameters, request))
    job = job_or_404(**address)
    return job, inputs_for_job(job, valid_filters(analysis.parameters, request))


def view_of(analysis: Analysis) -> Callable[..., Any]:
    """A view for one analysis, so that the OpenAPI document has its parameters."""
    root_parameters = (
        openapi_parameters(RootParameters, required=("root",)) if analysis.subject == "root" else []
    )

    class AnalysisView(APIView):
        @extend_schema(
            summary=f"{analysis.title}: {analysis.summary}",
            operation_id=f"{analysis.subject}_analysis_{analysis.name.replace('-', '_')}",
            parameters=[*root_parameters, *openapi_parameters(analysis.parameters)],
            responses={
                200: document_schema(),
                **ERRORS,
                **({} if analysis.subject == "fleet" else NOT_FOUND),
            },
        )
        def get(self, request: Request, **address: str) -> Response:
            arguments = _arguments(request, analysis, **address)
            return Response(answer_data(analysis, arguments[-1], analysis.answer(*arguments)))

    return AnalysisView.as_view()


ADDRESSES: Mapping[Subject, tuple[str, str]] = {
    "fleet": ("analyses/", "api-analysis-"),
    "root": ("storage-analyses/", "api-storage-analysis-"),
    "job": ("jobs/<name:cluster>/<name:job_id>/analyses/", "api-job-analysis-"),
}
"""By subject: the path before an analysis's name, and the prefix of its URL name."""


def urlpatterns() -> list[URLPattern]:
    return [
        path(f"{folder}{name}/", view_of(analysis), name=f"{prefix}{name}")
        for subject, (folder, prefix) in ADDRESSES.items()
        for name, analysis in all_analyses(subject).items()
    ]
