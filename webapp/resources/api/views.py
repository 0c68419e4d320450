"""Resources over the API."""

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import JobCurrent
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.resources.budget import MemoryPart, TaskManagerBudget
from webapp.resources.job_resources import STATES, Group, JobResources
from webapp.resources.lookup import BY, FleetResources, groupings, look_up_fleet, look_up_resources
from webapp.resources.words import EMPTY, UNREADABLE, advice, unknown, verdict


class MemoryPartSerializer(serializers.Serializer[MemoryPart]):
    name = serializers.CharField(help_text="heap, off-heap, network, managed, metaspace or overhead")
    option = serializers.CharField(help_text="the setting that sizes it")
    configured_bytes = serializers.IntegerField(allow_null=True)
    used_bytes = serializers.IntegerField(allow_null=True, help_text="the most in the hour; of the heap what a collection left")
    state = serializers.ChoiceField(STATES)
    suggested_bytes = serializers.IntegerField(allow_null=True, help_text="what would be enough, where it has more")
    spare_bytes = serializers.IntegerField()


class BudgetSerializer(serializers.Serializer[TaskManagerBudget]):
    taskmanager_id = serializers.CharField()
    host = serializers.CharField(allow_null=True)
    since = serializers.DateTimeField(help_text="of the first sample that was looked at")
    at = serializers.DateTimeField(help_text="of the newest sample")
    slots = serializers.IntegerField(allow_null=True)
    free_slots = serializers.IntegerField(allow_null=True)
    job_slots = serializers.DictField(child=serializers.IntegerField(), allow_null=True, help_text="slots by job; null before Flink 1.13")
    process_bytes = serializers.IntegerField(allow_null=True, help_text="configured for the whole process")
    cpu_allotted = serializers.FloatField(allow_null=True, help_text="cores of its slots")
    cpu_used = serializers.FloatField(allow_null=True, help_text="cores that its JVM kept busy, on average")
    gc_ratio = serializers.FloatField(allow_null=True, help_text="of the time, in collections")
    parts = MemoryPartSerializer(many=True)


class FiguresSerializer(serializers.Serializer[JobResources]):
    cluster = serializers.CharField()
    job_id = serializers.CharField()
    at = serializers.DateTimeField(help_text="of the newest sample")
    slots = serializers.IntegerField(allow_null=True)
    memory_bytes = serializers.IntegerField(allow_null=True, help_text="its share of the processes of its TaskManagers, by slots in use")
    spare_bytes = serializers.IntegerField(allow_null=True, help_text="its share of what would be saved")
    cpu_allotted = serializers.FloatField(allow_null=True, help_text="cores of its slots")
    cpu_used = serializers.FloatField(allow_null=True, help_text="cores, its share of what its TaskManagers used")
    parts = MemoryPartSerializer(many=True, help_text="of the TaskManager that uses most of each")


class ResourcesSerializer(FiguresSerializer):
    """What a job has of its TaskManagers, what it uses, and what to set."""

    verdict = serializers.SerializerMethodField()
    advice = serializers.SerializerMethodField()
    unknown = serializers.SerializerMethodField(help_text="sentences on what is not known")
    taskmanagers = BudgetSerializer(many=True)

    @extend_schema_field(serializers.CharField())
    def get_verdict(self, found: JobResources) -> str:
        return verdict(found).sentence

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_advice(self, found: JobResources) -> list[str]:
        return advice(found, self.context.get("configuration"))

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_unknown(self, found: JobResources) -> list[str]:
        return unknown(found)


class GroupSerializer(serializers.Serializer[Group]):
    name = serializers.CharField()
    jobs = serializers.IntegerField()
    slots = serializers.IntegerField()
    memory_bytes = serializers.IntegerField()
    spare_bytes = serializers.IntegerField(help_text="of it, what would be saved")
    cpu_allotted = serializers.FloatField()
    cpu_used = serializers.FloatField()
    tight = serializers.IntegerField(help_text="jobs that are close to a limit")


class FleetResourcesSerializer(serializers.Serializer[FleetResources]):
    """Of all jobs that have slots. Figures of groups are sums over jobs of which they are known."""

    since = serializers.DateTimeField()
    at = serializers.DateTimeField()
    taskmanagers = serializers.IntegerField()
    idle_slots = serializers.IntegerField(help_text="slots that no job has")
    idle_bytes = serializers.IntegerField(help_text="their share of the processes")
    groups = GroupSerializer(many=True, help_text="largest saving first")
    jobs = serializers.SerializerMethodField(help_text="largest saving first")

    @extend_schema_field(FiguresSerializer(many=True))
    def get_jobs(self, found: FleetResources) -> list[dict[str, Any]]:
        return [{"name": name, **FiguresSerializer(job).data} for name, job in found.jobs]


def as_document(found: JobResources, job: JobCurrent) -> dict[str, Any]:
    return dict(ResourcesSerializer(found, context={"configuration": job.configuration}).data)


class ResourcesView(APIView):
    @extend_schema(
        summary="Memory, CPU and slots of a job against their use",
        operation_id="jobs_resources",
        responses={200: ResourcesSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = job_or_404(cluster, job_id)
        found = look_up_resources(job)
        if found is None:
            raise Http404(EMPTY["text"])
        return Response(as_document(found, job))


class _By(serializers.Serializer[Any]):
    by = serializers.CharField(default=BY[0])

    def validate_by(self, given: str) -> str:
        if given not in (known := groupings()):
            raise serializers.ValidationError(f"Must be one of {', '.join(known)}.")
        return given


class FleetResourcesView(APIView):
    @extend_schema(
        summary="Memory, CPU and slots of all jobs against their use",
        operation_id="resources",
        parameters=[
            OpenApiParameter("by", str, description="group by cluster, by name (the first word of the job's) or by a label of clusters")
        ],
        responses={200: FleetResourcesSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request) -> Response:
        asked = _By(data=request.query_params)
        asked.is_valid(raise_exception=True)
        found = look_up_fleet(timezone.now(), asked.validated_data["by"])
        if found is None:
            raise Http404(f"{UNREADABLE['title']}. {UNREADABLE['text']}")
        return Response(FleetResourcesSerializer(found).data)
