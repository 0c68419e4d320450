from django.urls import path
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.delivery.formats.weir import SCHEMA
from webapp.lib.api.lists import ERRORS


class NoticeSchemaView(APIView):
    @extend_schema(
        summary="JSON schema of the notices sent to endpoints of format weir",
        operation_id="notice_schema_retrieve",
        responses={200: OpenApiTypes.OBJECT, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        return Response(SCHEMA)


urlpatterns = [
    path("notice-schema/", NoticeSchemaView.as_view(), name="api-notice-schema"),
]
