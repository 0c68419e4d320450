"""File system calls over the API."""

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from spark_jobs.filesystem_calls.inlining import Inlined
from webapp.filesystem_calls.job_audit import JobAudit, KindSeen
from webapp.filesystem_calls.job_calls import JobCalls
from webapp.filesystem_calls.lookup import Looked, look_up_calls
from webapp.filesystem_calls.what_ifs import Floor, WhatIf, WhatIfs
from webapp.filesystem_calls.words import WHAT_IFS, by_label, sentence
from webapp.fleet.job_lookup import job_or_404
from webapp.lib.api.lists import ERRORS, NOT_FOUND

_BY_KIND = serializers.DictField(child=serializers.IntegerField())


class JobCallsSerializer(serializers.Serializer[JobCalls]):
    """Calls of one checkpoint of a job to the NameNode of its storage, by the newest _metadata that was read."""

    metadata_path = serializers.CharField()
    checkpoint_id = serializers.IntegerField(allow_null=True)
    modified = serializers.DateTimeField(allow_null=True, help_text="of the _metadata")
    sentence = serializers.SerializerMethodField()
    least = serializers.SerializerMethodField(help_text="by kind; if it uploaded none of the shared files of which that is not known")
    most = serializers.SerializerMethodField(help_text="if it uploaded all of them; equal to least where it is known")
    total_least = serializers.IntegerField(source="least.total")
    total_most = serializers.IntegerField(source="most.total")
    written_total = serializers.IntegerField(help_text="of most, until the checkpoint has completed: the rest is deleted later")
    files_least = serializers.IntegerField(help_text="files that it wrote beside its _metadata")
    files_most = serializers.IntegerField()
    file_bytes = serializers.IntegerField(help_text="of those files, at most")
    files_kept = serializers.IntegerField(help_text="shared files that it took over from earlier checkpoints")
    merged_files = serializers.IntegerField(help_text="of all its files those that hold merged state")
    inline = serializers.IntegerField(help_text="states within the _metadata")
    inline_bytes = serializers.IntegerField()
    metadata_bytes = serializers.IntegerField()
    every_ms = serializers.FloatField(source="pace.every_ms", allow_null=True, help_text="median from one completed to the next")
    duration_ms = serializers.FloatField(source="pace.duration_ms", allow_null=True, help_text="median of completed checkpoints")
    per_s = serializers.FloatField(allow_null=True, help_text="calls a second over time, at most")
    burst_per_s = serializers.FloatField(allow_null=True, help_text="calls a second while a checkpoint is written, at most")
    unknown = serializers.ListField(child=serializers.CharField(), help_text="sentences on what is not known")

    @extend_schema_field(serializers.CharField())
    def get_sentence(self, calls: JobCalls) -> str:
        return sentence(calls)

    @extend_schema_field(_BY_KIND)
    def get_least(self, calls: JobCalls) -> dict[str, int]:
        return by_label(calls.least)

    @extend_schema_field(_BY_KIND)
    def get_most(self, calls: JobCalls) -> dict[str, int]:
        return by_label(calls.most)


class WhatIfSerializer(serializers.Serializer[WhatIf]):
    key = serializers.ChoiceField(tuple(WHAT_IFS))
    files_least = serializers.IntegerField(help_text="beside the _metadata")
    files_most = serializers.IntegerField()
    calls_least = serializers.IntegerField(help_text="of one checkpoint, deleted files too")
    calls_most = serializers.IntegerField()
    per_s = serializers.FloatField(allow_null=True, help_text="calls a second over time, at most")
    metadata_bytes = serializers.IntegerField(allow_null=True)
    heap_bytes = serializers.IntegerField(allow_null=True, help_text="of inline state on the heap of the JobManager, for all retained")
    setting = serializers.CharField(help_text="what to set")


class InlinedSerializer(serializers.Serializer[Inlined]):
    threshold_bytes = serializers.IntegerField()
    files = serializers.IntegerField()
    metadata_bytes = serializers.IntegerField()
    heap_bytes = serializers.IntegerField()


class FloorSerializer(serializers.Serializer[Floor]):
    per_s = serializers.IntegerField(help_text="calls a second, over time")
    interval_ms = serializers.FloatField(help_text="shortest interval that stays within them")


class WhatIfsSerializer(serializers.Serializer[WhatIfs]):
    """What other settings would make of the calls."""

    rows = WhatIfSerializer(many=True)
    curve = InlinedSerializer(many=True, help_text="by inline threshold, ascending; empty where files are merged")
    at_now = InlinedSerializer(help_text="at the threshold of the present")
    knee = InlinedSerializer(allow_null=True, help_text="where heap buys most")
    floors = FloorSerializer(many=True)
    threshold_key = serializers.CharField(help_text="the setting as this version of Flink calls it")
    retained = serializers.IntegerField(help_text="checkpoints")
    unknown = serializers.ListField(child=serializers.CharField())


class KindSeenSerializer(serializers.Serializer[KindSeen]):
    cmd = serializers.CharField(help_text="as the audit log names it")
    calls = serializers.IntegerField()
    per_checkpoint = serializers.FloatField()
    expected = serializers.IntegerField(allow_null=True, help_text="of one checkpoint; null for what none needs")


class JobAuditSerializer(serializers.Serializer[JobAudit]):
    """What the audit log of a NameNode has of the job, from the trigger of one checkpoint to that of another."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()
    checkpoints = serializers.IntegerField()
    calls = serializers.IntegerField()
    per_checkpoint = serializers.FloatField()
    expected_per_checkpoint = serializers.IntegerField(help_text="of the kinds that an audit log has: no addBlock, fsync and complete")
    burst = serializers.IntegerField(help_text="calls in the worst second")
    burst_at = serializers.DateTimeField()
    kinds = KindSeenSerializer(many=True, help_text="most calls first")
    callers = serializers.DictField(child=serializers.IntegerField(), help_text="calls by address, most first")


class LookedSerializer(serializers.Serializer[Looked]):
    calls = JobCallsSerializer()
    what_ifs = WhatIfsSerializer()
    observed = JobAuditSerializer(allow_null=True, help_text="null where no audit log of a NameNode has its calls")
    replication_factor = serializers.FloatField(
        source="replicated.factor", allow_null=True, help_text="how often HDFS stores each byte; null where unknown, or another storage"
    )


def as_document(found: Looked) -> dict[str, Any]:
    return dict(LookedSerializer(found).data)


class FilesystemCallsView(APIView):
    @extend_schema(
        summary="Calls of a job's checkpoints to the NameNode",
        operation_id="jobs_filesystem_calls",
        responses={200: LookedSerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        job = job_or_404(cluster, job_id)
        found = look_up_calls(job, timezone.now())
        if found.calls is None:
            raise Http404(found.why)
        return Response(as_document(found))
