from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from ingest.errors import Refused
from ingest.pushed import json_records, loki
from ingest.pushed.bodies import UnknownEncoding
from ingest.pushed.bounds import TooLarge
from ingest.pushed.spool import Behind
from webapp.lib.api.errors import ErrorAnswer
from webapp.lib.api.exceptions import BodyTooLarge, NotInstalled
from webapp.lib.api.lists import ERRORS
from webapp.push.authentication import FromShipper, PushTokenAuthentication
from webapp.push.receiving import Busy, Received, receive, receive_metrics

if TYPE_CHECKING:
    from google.protobuf.message import Message

RETRY_AFTER_S = 30
PROTOBUF = "application/x-protobuf"


class Unpackable(exceptions.APIException):
    status_code = 415
    default_code = "unsupported_encoding"


class ReceivedSerializer(serializers.Serializer[Received]):
    lines = serializers.IntegerField(source="taken.lines", help_text="taken")
    repeated = serializers.IntegerField(source="taken.repeated", help_text="were there already")
    skipped = serializers.IntegerField(help_text="records that are no line of a log")
    problem = serializers.CharField(help_text="of the first of them; empty where there is none")


ANSWERS = {
    **ERRORS,
    400: OpenApiResponse(ErrorAnswer, "The body is damaged or of another form."),
    413: OpenApiResponse(
        ErrorAnswer,
        "The body holds more bytes, records or values than one may; send smaller batches.",
    ),
    415: OpenApiResponse(ErrorAnswer, "The body is packed in a way that is not read."),
    429: OpenApiResponse(
        ErrorAnswer,
        (
            "The collector is behind, or pushes take too much of the server; send it again after "
            "the time in Retry-After."
        ),
    ),
}

OTLP_ANSWERS = {
    **ANSWERS,
    501: OpenApiResponse(ErrorAnswer, "This Weir was installed without what reads OTLP."),
}


# No docstring: the OpenAPI document would show it with every operation.
class PushView(APIView):
    authentication_classes = [PushTokenAuthentication]
    permission_classes = [FromShipper]
    parser_classes: list[Any] = []

    def take_body(
        self, request: Request, read: Callable[[bytes], Any], receive_by: Any = receive
    ) -> Received:
        try:
            encoding = request.headers.get("Content-Encoding", "")
            return cast(Received, receive_by(request.auth, request.stream, encoding, read))
        except TooLarge as error:
            raise BodyTooLarge(str(error)) from error
        except UnknownEncoding as error:
            raise Unpackable(str(error)) from error
        except Refused as error:
            raise exceptions.ParseError(str(error)) from error
        except Busy as error:
            raise exceptions.Throttled(error.retry_after_s, str(error)) from error
        except Behind as error:
            raise exceptions.Throttled(RETRY_AFTER_S, str(error)) from error


class JsonPushView(PushView):
    @extend_schema(
        summary="Push log records: JSON lines, or a list of objects",
        description=(
            "As Fluent Bit's http output, Vector's http sink and Logstash send them; gzip "
            "or zstd. The same record again folds."
        ),
        request=OpenApiTypes.OBJECT,
        responses={200: ReceivedSerializer, **ANSWERS},
    )
    def post(self, request: Request) -> Response:
        return Response(ReceivedSerializer(self.take_body(request, json_records.entries)).data)


@contextmanager
def _requires_otlp() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        lacks = f"The web server lacks {error.name}, which reads OTLP"
        raise NotInstalled(f"{lacks}: pip install 'weir[otlp]' where it runs.") from error


def _response(message: "Message", *, in_protobuf: bool) -> HttpResponse:
    if in_protobuf:
        return HttpResponse(message.SerializeToString(), content_type=PROTOBUF)
    from google.protobuf.json_format import MessageToJson

    return HttpResponse(MessageToJson(message, indent=None), content_type="application/json")


def _is_protobuf(request: Request) -> bool:
    return (request.content_type or "").partition(";")[0].strip() == PROTOBUF


def _take_entries(view: PushView, request: Request, form: Any) -> HttpResponse:
    """``form``: the module that reads the body, and makes the answer."""
    in_protobuf = _is_protobuf(request)
    answer = view.take_body(request, form.from_protobuf if in_protobuf else form.from_json)
    return _response(form.accepted(answer.skipped, answer.problem), in_protobuf=in_protobuf)


class OtlpPushView(PushView):
    @extend_schema(
        summary="Push logs by OTLP over HTTP",
        description=(
            "Protobuf or JSON, as OpenTelemetry's SDKs and Collector and Grafana Alloy "
            "send it; gzip or zstd."
        ),
        request=OpenApiTypes.OBJECT,
        responses={200: OpenApiTypes.OBJECT, **OTLP_ANSWERS},
    )
    def post(self, request: Request) -> HttpResponse:
        with _requires_otlp():
            from ingest.pushed import otlp
        return _take_entries(self, request, otlp)


class OtlpTracesPushView(PushView):
    @extend_schema(
        summary="Push Flink's spans by OTLP over HTTP",
        description=(
            "Protobuf or JSON; gzip or zstd. Spans of checkpoints, initializations and failures, as "
            "Flink's OpenTelemetry reporter sends them. Other spans are left out."
        ),
        request=OpenApiTypes.OBJECT,
        responses={200: OpenApiTypes.OBJECT, **OTLP_ANSWERS},
    )
    def post(self, request: Request) -> HttpResponse:
        with _requires_otlp():
            from ingest.pushed import otlp_traces
        return _take_entries(self, request, otlp_traces)


class OtlpMetricsPushView(PushView):
    @extend_schema(
        summary="Push metrics by OTLP over HTTP",
        description=(
            "Protobuf or JSON; gzip or zstd. As Flink's OpenTelemetry reporter names them, or an "
            "OpenTelemetry Collector that scrapes its Prometheus reporter. Gauges and cumulative "
            "sums are read; of differences, histograms and summaries none is."
        ),
        request=OpenApiTypes.OBJECT,
        responses={200: OpenApiTypes.OBJECT, **OTLP_ANSWERS},
    )
    def post(self, request: Request) -> HttpResponse:
        with _requires_otlp():
            from ingest.pushed import otlp_metrics
        in_protobuf = _is_protobuf(request)
        read = otlp_metrics.from_protobuf if in_protobuf else otlp_metrics.from_json
        self.take_body(request, read, receive_metrics)
        return _response(otlp_metrics.accepted(), in_protobuf=in_protobuf)


class LokiPushView(PushView):
    @extend_schema(
        summary="Push logs by Loki's protocol in JSON",
        request=OpenApiTypes.OBJECT,
        responses={204: OpenApiResponse(description="Taken."), **ANSWERS},
    )
    def post(self, request: Request) -> Response:
        self.take_body(request, loki.entries)
        return Response(status=204)
