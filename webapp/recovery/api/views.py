"""The restores of a job over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.job_lookup import job_or_404
from webapp.lib.api.filtering import described, given
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.analyses.recovery.failover import Failover, ObservedRestart, VertexRegions
from webapp.analyses.recovery.job_restores import READ_MS, Choice, JobRestores, job_restores
from webapp.analyses.recovery.observed_restores import ObservedRestore
from webapp.analyses.recovery.operator_states import InCheckpoint, NamedList, OperatorState
from webapp.recovery.parameters import RestoreParameters
from webapp.analyses.recovery.phases import Phases, SpareSlots
from webapp.analyses.recovery.regional_checkpoints import AtParallelism, RegionalCheckpoints, Shares
from webapp.analyses.recovery.restore_time import RestoreRange, UnionReads
from webapp.recovery.words import summary


class RangeSerializer(serializers.Serializer[RestoreRange]):
    least_ms = serializers.FloatField()
    expected_ms = serializers.FloatField()
    most_ms = serializers.FloatField()
    observations = serializers.IntegerField()


class ChoiceSerializer(serializers.Serializer[Choice]):
    kind = serializers.CharField(help_text="checkpoint, local (its copies on TaskManagers) or savepoint")
    checkpoint_id = serializers.IntegerField(allow_null=True)
    at = serializers.DateTimeField(allow_null=True)
    path = serializers.CharField(allow_null=True)
    state_bytes = serializers.IntegerField(allow_null=True)
    files = serializers.IntegerField(allow_null=True, help_text="to read from the storage; null where its _metadata was not read")
    file_bytes = serializers.IntegerField(allow_null=True)
    largest_bytes = serializers.IntegerField(allow_null=True, help_text="state of the subtask that has most")
    estimate = RangeSerializer(allow_null=True, help_text="null where no restore of this kind was observed")


class ObservedSerializer(serializers.Serializer[ObservedRestore]):
    at = serializers.DateTimeField(help_text="when its outage began")
    kind = serializers.CharField(help_text="checkpoint, local (its copies on TaskManagers) or savepoint")
    checkpoint_id = serializers.IntegerField()
    restore_ms = serializers.FloatField(help_text="from the first task that reads state until all run")
    downtime_ms = serializers.FloatField(allow_null=True)
    state_bytes = serializers.IntegerField(allow_null=True)
    lost_taskmanagers = serializers.IntegerField()


class UnionSerializer(serializers.Serializer[UnionReads]):
    operator_id = serializers.CharField()
    operator = serializers.CharField(help_text="its name; empty where none is known")
    states = serializers.ListField(child=serializers.CharField())
    parallelism = serializers.IntegerField()
    files = serializers.IntegerField(help_text="that each subtask reads")
    inline = serializers.IntegerField(help_text="handles within the _metadata, which come with the deployment")
    reads = serializers.IntegerField(help_text="parallelism times files")
    read_bytes = serializers.IntegerField(help_text="by all subtasks together, at most")
    serial_ms = serializers.FloatField(help_text="of one subtask that reads one file after the other, as Flink does")
    parallel_ms = serializers.FloatField(help_text="of one that would read 16 at a time")


class VertexRegionsSerializer(serializers.Serializer[VertexRegions]):
    vertex_id = serializers.CharField()
    name = serializers.CharField()
    parallelism = serializers.IntegerField()
    regions = serializers.IntegerField(help_text="failover regions that it has subtasks in")
    restarts = serializers.IntegerField(help_text="tasks that restart when one of its subtasks fails, at most")
    records_per_s = serializers.FloatField(allow_null=True)
    alone_records = serializers.FloatField(allow_null=True, help_text="lost if one of its subtasks came back alone")
    alone_share = serializers.FloatField(help_text="of its input that one subtask takes")


class RestartSerializer(serializers.Serializer[ObservedRestart]):
    at = serializers.DateTimeField()
    tasks = serializers.IntegerField()
    is_global = serializers.BooleanField()


class LossSerializer(serializers.Serializer[Any]):
    taskmanager_id = serializers.CharField()
    tasks = serializers.IntegerField()
    restarts = serializers.IntegerField()


class HostLossSerializer(serializers.Serializer[Any]):
    host = serializers.CharField()
    taskmanagers = serializers.IntegerField()
    tasks = serializers.IntegerField()
    restarts = serializers.IntegerField()


class PhasesSerializer(serializers.Serializer[Phases]):
    outages = serializers.IntegerField()
    downtime_ms = serializers.FloatField(allow_null=True, help_text="median")
    wait_ms = serializers.FloatField(allow_null=True, help_text="median, for the restart strategy and for slots")
    alone_ms = serializers.FloatField(allow_null=True, help_text="median of detection, deployment and restore alone")


class SpareSerializer(serializers.Serializer[SpareSlots]):
    outages = serializers.IntegerField(help_text="in which TaskManagers were lost")
    lost_wait_ms = serializers.FloatField(help_text="their median wait")
    usual_ms = serializers.FloatField(help_text="wait without such a loss")
    saved_ms = serializers.FloatField(help_text="by spare slots, for each failure")
    slots = serializers.IntegerField(allow_null=True, help_text="to keep spare: those of one TaskManager")


class SharesSerializer(serializers.Serializer[Shares]):
    full = serializers.FloatField(help_text="checkpoints that need every task")
    by_region = serializers.FloatField()
    by_subtask = serializers.FloatField(help_text="each subtask a part by itself: the most that could be had")


class AtParallelismSerializer(serializers.Serializer[AtParallelism]):
    parallelism = serializers.IntegerField(help_text="of the vertex that has most subtasks; others in proportion")
    tasks = serializers.IntegerField()
    regions = serializers.IntegerField()
    is_now = serializers.BooleanField()
    own = SharesSerializer(allow_null=True, help_text="at the rate of the job")
    fleet = SharesSerializer(allow_null=True, help_text="at the rate of the fleet")


class RegionalSerializer(serializers.Serializer[RegionalCheckpoints]):
    completed = serializers.IntegerField()
    failed = serializers.IntegerField()
    task_success = serializers.FloatField(allow_null=True, help_text="share of checkpoints in which a task completes its part")
    at_least = serializers.FloatField(allow_null=True, help_text="where none failed: no less, with 95 % confidence")
    fleet_success = serializers.FloatField(allow_null=True)
    fleet_jobs = serializers.IntegerField(help_text="that this is of")
    max_failed_share = serializers.FloatField(help_text="as asked with")
    max_reuse = serializers.IntegerField(help_text="as asked with")
    curve = AtParallelismSerializer(many=True, help_text="share of checkpoints that would complete in the long run")


class FailoverSerializer(serializers.Serializer[Failover]):
    tasks = serializers.IntegerField()
    regions = serializers.IntegerField()
    largest = serializers.IntegerField(help_text="tasks of the largest region")
    restarts_all = serializers.BooleanField(help_text="by its scheduler or failover strategy any failure restarts all tasks")
    vertices = VertexRegionsSerializer(many=True)
    taskmanagers = LossSerializer(many=True, help_text="those whose loss restarts most first")
    hosts = HostLossSerializer(many=True)
    observed = RestartSerializer(many=True, help_text="by the JobManager's log, newest first")
    phases = PhasesSerializer()
    spare = SpareSerializer(allow_null=True)
    checkpoints = RegionalSerializer(help_text="what if they were regional")


class InCheckpointSerializer(serializers.Serializer[InCheckpoint]):
    at = serializers.DateTimeField()
    checkpoint_id = serializers.IntegerField(allow_null=True)
    job_id = serializers.CharField(help_text="of the job that wrote it: this one, or one that it was restored from")
    subtasks = serializers.IntegerField(help_text="that have operator state")
    operator_bytes = serializers.IntegerField()
    keyed_bytes = serializers.IntegerField(help_text="keyed state of the same operator")
    elements = serializers.IntegerField(help_text="of all named lists")
    union_elements = serializers.IntegerField(help_text="of them those that a restore hands to every subtask")


class NamedListSerializer(serializers.Serializer[NamedList]):
    name = serializers.CharField()
    mode = serializers.CharField(help_text="SPLIT_DISTRIBUTE, UNION or BROADCAST")
    elements = serializers.IntegerField()


class OperatorStateSerializer(serializers.Serializer[OperatorState]):
    operator_id = serializers.CharField()
    name = serializers.CharField(help_text="empty where none is known")
    newest = InCheckpointSerializer()
    offset_bytes = serializers.IntegerField(help_text="8 for each element, in the _metadata and on the JobManager's heap")
    handed_out = serializers.IntegerField(help_text="union elements that one restore gives to all subtasks together")
    files = serializers.IntegerField(help_text="that hold it; what lies in the _metadata is in none")
    ratio = serializers.FloatField(allow_null=True, help_text="of elements or of bytes, whichever grew more; null with nothing to compare")
    since = serializers.IntegerField(allow_null=True, help_text="the oldest checkpoint with as many subtasks")
    restores = serializers.IntegerField(help_text="that multiplied its union elements by its subtasks, at least")
    states = NamedListSerializer(many=True, help_text="in the newest checkpoint; ten at most")
    checkpoints = InCheckpointSerializer(many=True, help_text="oldest first, 200 at most")


class RecoverySerializer(serializers.Serializer[JobRestores]):
    """What a failure of the job restarts, how long its restores took, and what one would take now."""

    summary = serializers.SerializerMethodField()
    local_recovery = serializers.BooleanField(allow_null=True)
    local_setting = serializers.CharField(help_text="what switches local recovery on in its version")
    choices = ChoiceSerializer(many=True, help_text="what it could be restored from now")
    observed = ObservedSerializer(many=True, help_text="newest first")
    unions = UnionSerializer(many=True)
    unions_of = serializers.IntegerField(allow_null=True, help_text="the checkpoint they were read from")
    read_ms = serializers.FloatField(help_text="assumed for one file")
    operator_states = OperatorStateSerializer(many=True, help_text="of operators with 256 elements or 16 KiB of it, as audits read them")
    failover = FailoverSerializer(allow_null=True, help_text="what a failure restarts; null where the plan is not known")
    unknown = serializers.ListField(child=serializers.CharField(), help_text="sentences on what is not known")

    @extend_schema_field(serializers.CharField())
    def get_summary(self, found: JobRestores) -> str:
        return summary(found)


def as_document(found: JobRestores) -> dict[str, Any]:
    return dict(RecoverySerializer(found).data)


class RecoveryView(APIView):
    @extend_schema(
        summary="What a failure of a job restarts, how long its restores took, and what one would take now",
        operation_id="jobs_recovery",
        parameters=described(RestoreParameters),
        responses={200: RecoverySerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = job_or_404(cluster, job_id)
        asked = given(RestoreParameters, request)
        return Response(as_document(job_restores(job, job.last_seen_at or job.as_of, asked.milliseconds or READ_MS, asked.regional)))
