from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import exceptions, serializers, status
from rest_framework.decorators import action
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.response import Response

from ingest.storage.plan_folder import PlanFolder
from webapp.accounts.models import ApiToken
from webapp.accounts.permissions import audited
from webapp.accounts.roles import may_operate
from webapp.cleanup import orders, planning
from webapp.cleanup.choices import IN_PLACE
from webapp.cleanup.entries import VERDICT_COLUMNS
from webapp.cleanup.errors import CleanupError
from webapp.cleanup.filters import PlanFilters
from webapp.cleanup.journal import VERBS, Journal
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.paging import files_page, journal_page
from webapp.cleanup.plan_reader import reader_of
from webapp.lib.api.errors import CONFLICT
from webapp.lib.api.lists import ERRORS, NOT_FOUND, REFUSALS, ListView, listed
from webapp.lib.api.parsing import BoundedList, valid_input
from webapp.storage.api.serializers import file_fields

AT = OpenApiParameter("at", OpenApiTypes.STR, description="`next` or `previous` of an answer.")


class CleanupPlanSerializer(serializers.ModelSerializer[CleanupPlan]):
    class Meta:
        model = CleanupPlan
        fields = (
            "id",
            "name",
            "state",
            "roots",
            "waste",
            "files",
            "bytes",
            "summary",
            "progress",
            "trouble",
            "created_at",
            "created_name",
            "expires_at",
            "approved_at",
            "approved_name",
            "approved_through",
            "grace_s",
            "ordered_name",
            "started_at",
            "finished_at",
            "purge_at",
        )


class PlanRequestSerializer(serializers.Serializer[Any]):
    roots = BoundedList(
        child=serializers.CharField(max_length=1000),
        required=False,
        max_length=1000,
        help_text="canonical; none: all of the newest audit",
    )
    waste = serializers.BooleanField(required=False, default=False)


class OrderSerializer(serializers.Serializer[Any]):
    verb = serializers.ChoiceField(choices=orders.ORDERS)


PlannedFileSerializer: Any = type(
    "PlannedFileSerializer",
    (serializers.Serializer,),
    {
        "__doc__": "One file with its proof.",
        **file_fields(VERDICT_COLUMNS),
        "age_ms": serializers.IntegerField(),
    },
)


class JournalRowSerializer(serializers.Serializer[Any]):
    """What became of one file."""

    path = serializers.CharField()
    outcome = serializers.CharField()
    bytes = serializers.IntegerField()
    at = serializers.DateTimeField()
    quarantine = serializers.CharField(allow_null=True)
    detail = serializers.CharField(allow_null=True)
    way = serializers.ChoiceField(
        sorted(IN_PLACE), allow_null=True, help_text="of a file that waits where it is"
    )
    version = serializers.CharField(allow_null=True, help_text="the one that is hidden")
    markers = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="delete markers that hide it"
    )


class _Page(serializers.Serializer[Any]):
    next = serializers.CharField(allow_blank=True)
    previous = serializers.CharField(allow_blank=True)


class PlannedFilesAnswer(_Page):
    results = PlannedFileSerializer(many=True, source="rows")


class JournalAnswer(_Page):
    results = JournalRowSerializer(many=True, source="rows")


class MayApprove(BasePermission):
    """A signed-in person who may approve, or that person's token with the scope to approve."""

    def has_permission(self, request: Request, view: Any) -> bool:
        is_allowed = (
            not isinstance(request.auth, ApiToken) or request.auth.scope == ApiToken.Scope.APPROVE
        )
        return audited(request, is_allowed and orders.may_approve(request.user))


@listed(CleanupPlanSerializer, "Clean-up plans, newest first")
class CleanupPlanViews(ListView):
    filterset_class = PlanFilters
    lookup_value_regex = r"\d{1,18}"

    @extend_schema(
        summary="One clean-up plan", responses={200: CleanupPlanSerializer, **ERRORS, **NOT_FOUND}
    )
    def retrieve(self, request: Request, pk: str) -> Response:
        return Response(CleanupPlanSerializer(_plan(pk)).data)

    @extend_schema(
        summary="Request a plan from the newest audit; a worker makes it, and nothing is moved",
        request=PlanRequestSerializer,
        responses={202: CleanupPlanSerializer, **ERRORS, **CONFLICT},
    )
    def create(self, request: Request) -> Response:
        data, now = valid_input(PlanRequestSerializer(data=request.data)), timezone.now()
        plan = planning.request_plan(
            data.get("roots", []),
            waste=data["waste"],
            user=request.user,
            name=request.user.get_username(),
            at=now,
        )
        orders.wake(plan, now)
        return Response(CleanupPlanSerializer(plan).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        summary="Approve a plan",
        request=None,
        responses={200: CleanupPlanSerializer, **REFUSALS},
    )
    @action(detail=True, methods=["post"], permission_classes=[MayApprove])
    def approve(self, request: Request, pk: str) -> Response:
        plan = _plan(pk)
        through = (
            f"token {request.auth.name} ({request.auth.prefix}…)"
            if isinstance(request.auth, ApiToken)
            else "API"
        )
        orders.approve(plan, request.user, timezone.now(), through=through)
        return Response(CleanupPlanSerializer(plan).data)

    @extend_schema(
        summary="Apply, undo, purge or withdraw a plan",
        request=OrderSerializer,
        responses={202: CleanupPlanSerializer, **REFUSALS},
    )
    @action(detail=True, methods=["post"])
    def order(self, request: Request, pk: str) -> Response:
        verb = valid_input(OrderSerializer(data=request.data))["verb"]
        if not may_operate(request.user):
            raise exceptions.PermissionDenied
        plan = _plan(pk)
        orders.order(plan, verb, request.user.get_username(), timezone.now())
        return Response(CleanupPlanSerializer(plan).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(
        summary="Files of a plan, with the proof for each",
        parameters=[AT],
        responses={200: PlannedFilesAnswer, **ERRORS, **NOT_FOUND},
    )
    @action(detail=True, filter_backends=[], pagination_class=None)
    def files(self, request: Request, pk: str) -> Response:
        plan = _plan(pk)
        if not plan.name:
            return Response({"next": "", "previous": "", "results": []})
        return _answer(
            PlannedFilesAnswer,
            lambda: files_page(reader_of(plan), request.query_params.get("at", "")),
        )

    @extend_schema(
        summary="What happened to the files of a plan",
        parameters=[
            AT,
            OpenApiParameter(
                "verb", OpenApiTypes.STR, enum=list(VERBS), description="default: apply"
            ),
        ],
        responses={200: JournalAnswer, **ERRORS, **NOT_FOUND},
    )
    @action(detail=True, filter_backends=[], pagination_class=None)
    def journal(self, request: Request, pk: str) -> Response:
        plan = _plan(pk)
        verb = request.query_params.get("verb", VERBS[0])
        if verb not in VERBS:
            raise exceptions.ValidationError({"verb": [f"Give one of {', '.join(VERBS)}."]})
        journal = Journal(PlanFolder(plan.folder), plan.name or "", verb)
        return _answer(
            JournalAnswer, lambda: journal_page(journal, request.query_params.get("at", ""))
        )


def _plan(pk: str) -> CleanupPlan:
    return get_object_or_404(CleanupPlan, pk=int(pk))


def _answer(serializer: Any, read: Any) -> Response:
    try:
        return Response(serializer(read()).data)
    except (CleanupError, OSError) as error:
        raise Http404(str(error)) from error
