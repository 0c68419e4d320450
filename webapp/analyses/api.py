"""Analyses over the API: one list, one document, whose schema follows from the dataclasses."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from django.urls import URLPattern, path
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest.messages import message
from webapp.analyses.declaration import Analysis, Declaration, FleetAnalysis, RootAnalysis
from webapp.analyses.document import Document, Inputs, Link, Table
from webapp.analyses.inputs import inputs_for_fleet, inputs_for_job, inputs_for_root
from webapp.analyses.presentation import plain
from webapp.analyses.registry import all_analyses, all_fleet_analyses, all_root_analyses
from webapp.fleet.job_lookup import job_or_404
from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import LongText
from webapp.storage.newest_audits import audited_or_404

ANY_VALUE = {"nullable": True, "description": "in the unit of its column or fact; null is unknown"}
LISTED_FIELDS = ("name", "title", "summary", "tab")
LISTED = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {name: {"type": "string"} for name in LISTED_FIELDS},
        "required": list(LISTED_FIELDS),
    },
}


class RootParameters(ListFilters):
    root = LongText(about=message("its canonical URI"))


def answered(analysis: Declaration[Any, Any], inputs: Inputs, document: Document) -> dict[str, Any]:
    blocks: dict[str, Any] = plain(document)
    return {
        "analysis": analysis.name,
        "title": analysis.title,
        "as_of": plain(inputs.until),
        **blocks,
    }


def schema_of(kind: Any) -> dict[str, Any]:
    origin, of = get_origin(kind), get_args(kind)
    if kind is Link:
        return {"type": "string"}
    if origin is Literal:
        return {"type": "string", "enum": list(of)}
    if origin in (Union, UnionType):
        options = [option for option in of if option is not type(None)]
        if str in options:
            return dict(ANY_VALUE)
        if len(options) == 1:
            return {**schema_of(options[0]), "nullable": True}
        return {"oneOf": [schema_of(option) for option in options]}
    if origin is tuple:
        return {"type": "array", "items": schema_of(of[0])}
    if is_dataclass(kind):
        return _object(kind)
    return {
        "type": {int: "integer", float: "number", bool: "boolean", datetime: "string"}.get(
            kind, "string"
        )
    }


def _object(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    properties = {field.name: schema_of(hints[field.name]) for field in fields(kind)}
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


class AnalysesView(APIView):
    @extend_schema(
        summary="Analyses available for a job",
        operation_id="job_analyses",
        responses={200: LISTED, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job_or_404(cluster, job_id)
        return Response(
            [
                {name: getattr(analysis, name) for name in LISTED_FIELDS}
                for analysis in all_analyses().values()
            ]
        )


def _job_arguments(
    request: Request, analysis: Analysis, cluster: str, job_id: str
) -> tuple[tuple[Any, ...], Inputs]:
    job = job_or_404(cluster, job_id)
    return (job,), inputs_for_job(job, given(analysis.parameters, request))


def _fleet_arguments(request: Request, analysis: FleetAnalysis) -> tuple[tuple[Any, ...], Inputs]:
    return (), inputs_for_fleet(given(analysis.parameters, request))


def _root_arguments(request: Request, analysis: RootAnalysis) -> tuple[tuple[Any, ...], Inputs]:
    figures = audited_or_404(given(RootParameters, request).values.get("root", ""))
    return (figures,), inputs_for_root(figures, given(analysis.parameters, request))


def view_of(
    analysis: Declaration[Any, Any],
    kind: str,
    look_up: Callable[..., tuple[tuple[Any, ...], Inputs]],
    responses: Mapping[Any, Any],
    parameters: Iterable[Any] = (),
) -> Callable[..., Any]:
    """A view for each analysis, so that the OpenAPI document has its parameters. ``look_up``: finds
    its subject and ``Inputs``.
    """

    class AnalysisView(APIView):
        @extend_schema(
            summary=f"{analysis.title}: {analysis.summary}",
            operation_id=f"{kind}_analysis_{analysis.name.replace('-', '_')}",
            parameters=[*parameters, *described(analysis.parameters)],
            responses={200: document_schema(), **responses},
        )
        def get(self, request: Request, **of: str) -> Response:
            subject, inputs = look_up(request, analysis, **of)
            return Response(answered(analysis, inputs, analysis.answer(*subject, inputs)))

    return AnalysisView.as_view()


def urlpatterns() -> list[URLPattern]:
    of_job = "jobs/<name:cluster>/<name:job_id>/analyses"
    of_one = {**ERRORS, **NOT_FOUND}
    root = described(RootParameters, required=("root",))
    return [
        *(
            path(
                f"analyses/{name}/",
                view_of(analysis, "fleet", _fleet_arguments, ERRORS),
                name=f"api-analysis-{name}",
            )
            for name, analysis in all_fleet_analyses().items()
        ),
        *(
            path(
                f"storage-analyses/{name}/",
                view_of(analysis, "root", _root_arguments, of_one, root),
                name=f"api-storage-analysis-{name}",
            )
            for name, analysis in all_root_analyses().items()
        ),
        path(f"{of_job}/", AnalysesView.as_view(), name="api-job-analyses"),
        *(
            path(
                f"{of_job}/{name}/",
                view_of(analysis, "job", _job_arguments, of_one),
                name=f"api-job-analysis-{name}",
            )
            for name, analysis in all_analyses().items()
        ),
    ]
