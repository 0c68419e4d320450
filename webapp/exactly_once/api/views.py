"""Transactions of a job over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from spark_jobs.diagnosis.transactions import Commit
from webapp.exactly_once.job_transactions import JobTransactions, job_transactions
from webapp.exactly_once.words import advice, verdict
from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import JobCurrent
from webapp.lib.api.lists import ERRORS, NOT_FOUND

_OF = "of_sinks."


def _whole(name: str, about: str) -> serializers.IntegerField:
    return serializers.IntegerField(source=f"{_OF}{name}", allow_null=True, help_text=about)


class CommitSerializer(serializers.Serializer[Commit]):
    checkpoint_id = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="the checkpoint completed")
    open_ms = serializers.IntegerField(help_text="at most so long the transactions were open that were committed then")


class TransactionsSerializer(serializers.Serializer[JobTransactions]):
    """How long transactions of two-phase-commit sinks are open, against their time-out."""

    at = serializers.DateTimeField(help_text="up to when")
    verdict = serializers.SerializerMethodField()
    advice = serializers.SerializerMethodField()
    mode = serializers.CharField(allow_null=True, help_text="of checkpoints: exactly_once or at_least_once")
    interval_ms = serializers.IntegerField(allow_null=True, help_text="of checkpoints")
    committers = serializers.ListField(child=serializers.CharField(), help_text="vertices of the plan that commit")
    timeout_ms = _whole("timeout_ms", "of transactions, the shortest of its sinks; null where no log has it and no operator entered it")
    timeout_is_set = serializers.BooleanField(source=f"{_OF}timeout_is_set", help_text="by an operator, as the rule's threshold")
    open_ms = _whole("open_ms", "longest that one was open, or is")
    pending_ms = _whole("pending_ms", "for so long the oldest one is open that is not committed")
    restart_ms = _whole("restart_ms", "longest restart; null where none was seen")
    needed_ms = _whole("needed_ms", "longest that one was open and the longest restart")
    advised_ms = _whole("advised_ms", "time-out at least, by this history")
    lost = serializers.SerializerMethodField(help_text="transactions that sinks logged as lost")
    commits = CommitSerializer(source=f"{_OF}commits", many=True, help_text="oldest first")

    @extend_schema_field(serializers.CharField())
    def get_verdict(self, found: JobTransactions) -> str:
        return verdict(found).word

    @extend_schema_field(serializers.CharField())
    def get_advice(self, found: JobTransactions) -> str:
        return advice(found)

    @extend_schema_field(serializers.IntegerField())
    def get_lost(self, found: JobTransactions) -> int:
        return len(found.of_sinks.lost)


def as_document(job: JobCurrent) -> dict[str, Any]:
    return dict(TransactionsSerializer(job_transactions(job, job.last_seen_at or job.as_of)).data)


class TransactionsView(APIView):
    @extend_schema(
        summary="Transactions of two-phase-commit sinks of a job, against their time-out",
        operation_id="jobs_exactly_once",
        responses={200: TransactionsSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        return Response(as_document(job_or_404(cluster, job_id)))
