"""Starts of a job over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from spark_jobs.fold.starts import PARTS
from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import JobCurrent
from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.starts.jar_downloads import Download, JarDownloads, jar_downloads
from webapp.starts.job_starts import JobStarts, Phase, Start, job_starts, threads_of
from webapp.starts.parameters import StartParameters
from webapp.starts.rpc_troubles import RpcTroubles, TroubledSecond, rpc_troubles
from webapp.starts.words import verdict
from webapp.threads.api.starting import StartingThreadSerializer


class PhaseSerializer(serializers.Serializer[Phase]):
    name = serializers.ChoiceField(PARTS)
    duration_ms = serializers.IntegerField()
    usual_ms = serializers.IntegerField(allow_null=True, help_text="median of this phase at earlier starts of jobs of the name")
    over_usual = serializers.FloatField(allow_null=True)


class StartSerializer(serializers.Serializer[Start]):
    at = serializers.DateTimeField(help_text="scheduling began")
    kind = serializers.ChoiceField(("start", "restart", "rescale"))
    begun_at = serializers.DateTimeField(allow_null=True, help_text="submission, or of a restart RESTARTING")
    running_at = serializers.DateTimeField(help_text="its last task ran")
    total_ms = serializers.IntegerField(allow_null=True, help_text="all phases but detect")
    usual_total_ms = serializers.IntegerField(allow_null=True, help_text="median of earlier starts of jobs of the name")
    downtime_ms = serializers.IntegerField(allow_null=True, help_text="of a restart: no task ran")
    output_gap_ms = serializers.IntegerField(
        allow_null=True, help_text="from the last completed checkpoint before it to the first one after it"
    )
    first_completed_at = serializers.DateTimeField(allow_null=True, help_text="end of the first completed checkpoint after it")
    phases = PhaseSerializer(many=True)
    tasks = serializers.IntegerField(help_text="that were deployed")
    taskmanagers = serializers.IntegerField(allow_null=True)
    hosts = serializers.IntegerField(allow_null=True)
    stragglers = serializers.IntegerField(help_text="tasks that took three times as long as the median task of their vertex")
    held_up_ms = serializers.IntegerField(help_text="how much later the last of them ran than all other tasks")
    reported_by = serializers.ChoiceField(("rest", "log"))
    detail = serializers.DictField(help_text="slowest vertices, taskmanagers, hosts, and tasks (slowest 1 % and stragglers)")


class DownloadSerializer(serializers.Serializer[Download]):
    process = serializers.CharField(help_text="log of the TaskManager")
    at = serializers.DateTimeField(help_text="it began")
    files = serializers.IntegerField()
    at_most_ms = serializers.IntegerField(allow_null=True, help_text="until its first task was deployed: Flink does not log the end")


class JarsSerializer(serializers.Serializer[JarDownloads]):
    at = serializers.DateTimeField(allow_null=True, help_text="the start that it is about")
    taskmanagers = serializers.IntegerField(allow_null=True)
    hosts = serializers.IntegerField(allow_null=True)
    high_availability = serializers.BooleanField(allow_null=True, help_text="then TaskManagers read jars from its storage")
    processes = serializers.IntegerField(help_text="TaskManagers that logged a download from the JobManager")
    files = serializers.IntegerField(help_text="different files that they fetched")
    downloads = DownloadSerializer(many=True, help_text="the longest 12")
    jar_bytes = serializers.IntegerField(allow_null=True, help_text="as asked with")
    link_bytes_per_s = serializers.IntegerField(help_text="as asked with")
    by_taskmanager_bytes = serializers.IntegerField(allow_null=True, help_text="jars times TaskManagers")
    by_host_bytes = serializers.IntegerField(allow_null=True, help_text="jars times hosts")
    saved_bytes = serializers.IntegerField(allow_null=True, help_text="by one download a host")
    sent_bytes = serializers.IntegerField(allow_null=True, help_text="by the JobManager for one deployment")
    sent_ms = serializers.IntegerField(allow_null=True)
    saved_ms = serializers.IntegerField(allow_null=True, help_text="of sent_ms, by one download a host")


class JobStartsSerializer(serializers.Serializer[JobStarts]):
    """The newest starts of a job by their phases, beside earlier starts of jobs of its name."""

    verdict = serializers.SerializerMethodField()
    compared = serializers.IntegerField(help_text="starts of jobs of the name that are known, at most 60")
    jobs = serializers.IntegerField(help_text="job ids among them")
    starts = StartSerializer(many=True)

    @extend_schema_field(serializers.CharField())
    def get_verdict(self, found: JobStarts) -> str:
        return verdict(found).sentence


class TroubledSecondSerializer(serializers.Serializer[TroubledSecond]):
    at = serializers.DateTimeField()
    phase = serializers.CharField(allow_null=True, help_text="of a start that is known to have been under way")
    slots = serializers.IntegerField()
    deployments = serializers.IntegerField()
    partitions = serializers.IntegerField()
    taskmanagers_lost = serializers.IntegerField()
    state_requests = serializers.IntegerField(help_text="for the state of a partition, to the JobManager")


class RpcTroublesSerializer(serializers.Serializer[RpcTroubles]):
    until = serializers.DateTimeField(help_text="end of the hour that is looked at")
    slots = serializers.IntegerField(help_text="requests for slots that timed out")
    deployments = serializers.IntegerField(help_text="tasks that failed since a call about them timed out")
    partitions = serializers.IntegerField(help_text="partitions that were not found")
    taskmanagers_lost = serializers.IntegerField()
    state_requests = serializers.IntegerField(
        allow_null=True, help_text="consumers asked for the state of a partition; null where no line says so: Flink logs it at DEBUG alone"
    )
    seconds = TroubledSecondSerializer(many=True, help_text="worst first")
    cut = serializers.BooleanField(help_text="there were more lines than are read; the newest count")
    is_known = serializers.BooleanField(help_text="any log of the job was read for that hour")


class WithJarsSerializer(JobStartsSerializer):
    """Starts, what TaskManagers fetch when the job is deployed, and which calls timed out meanwhile."""

    jars = JarsSerializer()
    calls = RpcTroublesSerializer()
    threads = StartingThreadSerializer(many=True, help_text="what slow tasks of the newest start did, by dumps; at most 30")


def as_document(job: JobCurrent, asked: StartParameters) -> dict[str, Any]:
    found = job_starts(job)
    jars = jar_downloads(job, found, asked.jar_bytes, asked.link_bytes_per_s)
    return {
        **JobStartsSerializer(found).data,
        "jars": JarsSerializer(jars).data,
        "calls": RpcTroublesSerializer(rpc_troubles(job, None, found.starts)).data,
        "threads": StartingThreadSerializer(threads_of(job, found), many=True).data,
    }


class StartsView(APIView):
    @extend_schema(
        summary="Starts of a job by their phases",
        operation_id="jobs_starts",
        parameters=described(StartParameters),
        responses={200: WithJarsSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = job_or_404(cluster, job_id)
        return Response(as_document(job, given(StartParameters, request)))
