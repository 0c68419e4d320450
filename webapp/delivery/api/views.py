"""Endpoints and deliveries over the API: read by anybody signed in, changed by operators with the
scope to write.
"""

from typing import Any

from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions, status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.delivery import addresses, orders
from webapp.delivery.api.serializers import (
    DeliveryDetailSerializer,
    DeliverySerializer,
    EndpointRequestSerializer,
    EndpointSerializer,
    NewEndpointSerializer,
    ReplayedSerializer,
    ReplayRangeSerializer,
)
from webapp.delivery.endpoint_entry import enter
from webapp.delivery.filters import DeliveryFilters, EndpointFilters
from webapp.delivery.formats.weir import SCHEMA
from webapp.delivery.models import Delivery, Endpoint
from webapp.lib import timeranges
from webapp.lib.api.errors import CONFLICT
from webapp.lib.api.lists import ERRORS, NOT_FOUND, ListView, listed
from webapp.lib.row_numbers import row_number


@listed(EndpointSerializer, "Endpoints: who is notified of alerts")
class EndpointViews(ListView):
    filterset_class = EndpointFilters
    lookup_value_regex = r"\d{1,18}"

    @extend_schema(
        summary="One endpoint", responses={200: EndpointSerializer, **ERRORS, **NOT_FOUND}
    )
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(EndpointSerializer(_endpoint(pk)).data)

    @extend_schema(
        summary="Add an endpoint; its secret is shown in this answer only",
        request=EndpointRequestSerializer,
        responses={201: NewEndpointSerializer, **ERRORS},
    )
    def create(self, request: Request) -> Response:
        return _entered(request, Endpoint(), status.HTTP_201_CREATED)

    @extend_schema(
        summary="Change an endpoint",
        request=EndpointRequestSerializer,
        responses={200: NewEndpointSerializer, **ERRORS, **NOT_FOUND},
    )
    def update(self, request: Request, pk: str) -> Response:
        return _entered(request, _endpoint(pk), status.HTTP_200_OK)

    @extend_schema(
        summary="Remove an endpoint and its log", responses={204: None, **ERRORS, **NOT_FOUND}
    )
    def destroy(self, request: Request, pk: str) -> Response:
        _endpoint(pk).delete()
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(
        summary="Create a new secret; the old one stays valid for a day",
        request=None,
        responses={200: NewEndpointSerializer, **ERRORS, **NOT_FOUND, **CONFLICT},
    )
    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, pk: str) -> Response:
        endpoint = _endpoint(pk)
        secret = orders.rotate(endpoint, request.user.get_username(), timezone.now())
        endpoint.refresh_from_db()
        return Response(_with_secret(endpoint, secret))

    @extend_schema(
        summary="Send a test",
        request=None,
        responses={202: DeliverySerializer, **ERRORS, **NOT_FOUND},
    )
    @action(detail=True, methods=["post"])
    def test(self, request: Request, pk: str) -> Response:
        row = orders.request_test(_endpoint(pk), request.user.get_username(), timezone.now())
        return Response(DeliverySerializer(row).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        summary="Enable an endpoint",
        request=None,
        responses={200: EndpointSerializer, **ERRORS, **NOT_FOUND},
    )
    @action(detail=True, methods=["post"])
    def enable(self, request: Request, pk: str) -> Response:
        orders.enable(_endpoint(pk), request.user.get_username(), timezone.now())
        return Response(EndpointSerializer(_endpoint(pk)).data)

    @extend_schema(
        summary="Disable an endpoint",
        request=None,
        responses={200: EndpointSerializer, **ERRORS, **NOT_FOUND},
    )
    @action(detail=True, methods=["post"])
    def disable(self, request: Request, pk: str) -> Response:
        orders.disable_by_hand(_endpoint(pk), request.user.get_username(), timezone.now())
        return Response(EndpointSerializer(_endpoint(pk)).data)


@listed(DeliverySerializer, "Deliveries, newest first")
class DeliveryViews(ListView):
    queryset = Delivery.objects.listed()
    filterset_class = DeliveryFilters
    lookup_field = "uid"
    lookup_value_regex = "msg_[a-z2-7]{26}"

    @extend_schema(
        summary="One delivery with its attempts",
        responses={200: DeliveryDetailSerializer, **ERRORS, **NOT_FOUND},
    )
    def retrieve(self, request: Request, uid: str) -> Response:
        delivery = get_object_or_404(
            Delivery.objects.select_related("endpoint").prefetch_related("tried"), uid=uid
        )
        return Response(DeliveryDetailSerializer(delivery).data)

    @extend_schema(
        summary="Send a delivery again, under the same id",
        request=None,
        responses={202: DeliverySerializer, **ERRORS, **NOT_FOUND, **CONFLICT},
    )
    @action(detail=True, methods=["post"])
    def replay(self, request: Request, uid: str) -> Response:
        delivery = get_object_or_404(self.get_queryset(), uid=uid)
        orders.replay(delivery, request.user.get_username(), timezone.now())
        return Response(
            DeliverySerializer(self.get_queryset().get(pk=delivery.pk)).data,
            status=status.HTTP_202_ACCEPTED,
        )

    @extend_schema(
        summary="Send all deliveries of a time range again",
        request=ReplayRangeSerializer,
        responses={202: ReplayedSerializer, **ERRORS, **NOT_FOUND, **CONFLICT},
    )
    @action(
        detail=False,
        methods=["post"],
        url_path="replay-range",
        filter_backends=[],
        pagination_class=None,
    )
    def replay_range(self, request: Request) -> Response:
        wanted = ReplayRangeSerializer(data=request.data)
        wanted.is_valid(raise_exception=True)
        entered, now = wanted.validated_data, timezone.now()
        endpoint = (
            get_object_or_404(Endpoint, pk=entered["endpoint"]) if entered.get("endpoint") else None
        )
        since, until = _instant("from", entered["from"]), _instant("to", entered["to"])
        count = orders.replay_range(
            since, until, entered["states"], request.user.get_username(), now, endpoint
        )
        return Response({"replayed": count}, status=status.HTTP_202_ACCEPTED)


class NoticeSchemaView(APIView):
    @extend_schema(
        summary="JSON schema of the notices sent to endpoints of format weir",
        operation_id="notice_schema_retrieve",
        responses={200: OpenApiTypes.OBJECT, **ERRORS},
    )
    def get(self, request: Request) -> Response:
        return Response(SCHEMA)


def _entered(request: Request, endpoint: Endpoint, code: int) -> Response:
    wanted = EndpointRequestSerializer(data=request.data)
    wanted.is_valid(raise_exception=True)
    secret = enter(endpoint, wanted.entered(), addresses.policy(), request.user)
    return Response(_with_secret(endpoint, secret), status=code)


def _with_secret(endpoint: Endpoint, secret: str) -> dict[str, Any]:
    return {**EndpointSerializer(endpoint).data, "secret": secret}


def _endpoint(pk: str) -> Endpoint:
    return get_object_or_404(Endpoint, pk=row_number(pk))


def _instant(name: str, text: str) -> Any:
    try:
        return timeranges.instant(text, timezone.now())
    except ValueError as error:
        raise exceptions.ValidationError({name: [str(error)]}) from error
