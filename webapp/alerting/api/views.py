from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.alerting import actions
from webapp.alerting.api.serializers import (
    AlertSerializer,
    AlertWithStorySerializer,
    CommentSerializer,
    SilenceSerializer,
)
from webapp.alerting.filters import AlertFilters, SilenceFilters
from webapp.alerting.models import Alert, Silence
from webapp.lib.api.lists import ERRORS, NOT_FOUND, REFUSALS, ListView, listed
from webapp.lib.api.parsing import valid_input
from webapp.lib.refusals import ActionRefused

NUMBER = r"\d{1,18}"


@listed(AlertSerializer, "Alerts, newest first")
class AlertViews(ListView):
    queryset = Alert.objects.select_related("group", "inhibited_by")
    filterset_class = AlertFilters
    lookup_field = "uid"
    lookup_value_regex = "alr_[a-z2-7]{26}"

    @extend_schema(
        summary="One alert with its history",
        responses={200: AlertWithStorySerializer, **ERRORS, **NOT_FOUND},
    )
    def retrieve(self, request: Request, uid: str) -> Response:
        return Response(AlertWithStorySerializer(self._find(uid)).data)

    @extend_schema(
        summary="Acknowledge an alert: the next notification is sent when it is resolved",
        request=CommentSerializer,
        responses={200: AlertSerializer, **REFUSALS},
    )
    @action(detail=True, methods=["post"])
    def acknowledge(self, request: Request, uid: str) -> Response:
        alert = self._find(uid)
        entered = valid_input(CommentSerializer(data=request.data))
        if not actions.acknowledge([uid], request.user, entered["comment"], timezone.now()):
            alert.refresh_from_db()
            by = alert.acknowledged_name
            raise ActionRefused(f"It is acknowledged by {by} already." if by else "It is resolved.")
        return Response(AlertSerializer(self._find(uid)).data)

    @extend_schema(
        summary="Take an acknowledgement back",
        request=None,
        responses={200: AlertSerializer, **REFUSALS},
    )
    @action(detail=True, methods=["post"], url_path="take-back")
    def take_back(self, request: Request, uid: str) -> Response:
        self._find(uid)
        if not actions.take_back([uid], request.user, timezone.now()):
            raise ActionRefused("Nobody has acknowledged it, or it is resolved.")
        return Response(AlertSerializer(self._find(uid)).data)

    def _find(self, uid: str) -> Alert:
        alert: Alert = get_object_or_404(self.get_queryset(), uid=uid)
        return alert


@listed(SilenceSerializer, "Silences, newest first")
class SilenceViews(ListView):
    filterset_class = SilenceFilters
    lookup_value_regex = NUMBER

    @extend_schema(summary="One silence", responses={200: SilenceSerializer, **ERRORS, **NOT_FOUND})
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(SilenceSerializer(get_object_or_404(Silence, pk=pk)).data)

    @extend_schema(
        summary="Silence matching alerts for a time",
        request=SilenceSerializer,
        responses={201: SilenceSerializer, **ERRORS},
    )
    def create(self, request: Request) -> Response:
        entered, now = valid_input(SilenceSerializer(data=request.data)), timezone.now()
        start = entered.get("starts_at") or now
        silence = actions.silence(
            entered["matchers"], start, entered["ends_at"], entered["reason"], request.user, now
        )
        return Response(SilenceSerializer(silence).data, status=status.HTTP_201_CREATED)

    @extend_schema(
        summary="End a silence now",
        request=None,
        responses={200: SilenceSerializer, **REFUSALS},
    )
    @action(detail=True, methods=["post"])
    def end(self, request: Request, pk: str) -> Response:
        silence = get_object_or_404(Silence, pk=pk)
        actions.end_silence(silence, request.user, timezone.now())
        return Response(SilenceSerializer(silence).data)
