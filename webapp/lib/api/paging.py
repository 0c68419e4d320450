"""Pages of the API's lists, by cursor (:mod:`webapp.lib.keysets`)."""

import re
from typing import Any, cast

from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from webapp.lib.keysets import BadCursor, Page, page

PAGE_SIZE, LARGEST_PAGE = 100, 1_000


class CursorPaging(BasePagination):
    def paginate_queryset(
        self, queryset: Any, request: Request, view: APIView | None = None
    ) -> list[Any]:
        self.request = request
        try:
            self.page: Page[Any] = page(
                queryset,
                cast(Any, view).paging_order(),
                request.query_params.get("cursor", ""),
                self._size(request),
            )
        except BadCursor as error:
            raise ValidationError({"cursor": [str(error)]}) from error
        return self.page.rows

    def get_paginated_response(self, data: Any) -> Response:
        return Response(
            {
                "next": self._link(self.page.next_cursor),
                "previous": self._link(self.page.previous_cursor),
                "results": data,
            }
        )

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        link = {"type": "string", "format": "uri", "nullable": True}
        return {
            "type": "object",
            "required": ["next", "previous", "results"],
            "properties": {"next": link, "previous": link, "results": schema},
        }

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        cursor = {
            "name": "cursor",
            "in": "query",
            "description": "From `next` or `previous` of an answer.",
            "schema": {"type": "string"},
        }
        page_size = {
            "name": "page_size",
            "in": "query",
            "description": "Rows an answer.",
            "schema": {
                "type": "integer",
                "minimum": 1,
                "maximum": LARGEST_PAGE,
                "default": PAGE_SIZE,
            },
        }
        return [cursor, page_size]

    def _size(self, request: Request) -> int:
        text = request.query_params.get("page_size", str(PAGE_SIZE))
        if not re.fullmatch("[0-9]{1,4}", text) or not 1 <= int(text) <= LARGEST_PAGE:
            raise ValidationError({"page_size": [f"Give a whole number from 1 to {LARGEST_PAGE}."]})
        return int(text)

    def _link(self, cursor: str) -> str | None:
        if not cursor:
            return None
        return str(replace_query_param(self.request.build_absolute_uri(), "cursor", cursor))
