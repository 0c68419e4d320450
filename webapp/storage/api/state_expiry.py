"""Which keyed states of a job expire, over the API."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.fleet.job_lookup import job_or_404
from webapp.fleet.models import JobCurrent
from webapp.lib.api.lists import ERRORS, NOT_FOUND
from webapp.storage.state_expiry import NamedState, StateExpiry, state_expiry


class NamedStateSerializer(serializers.Serializer[NamedState]):
    operator_id = serializers.CharField()
    operator = serializers.CharField(help_text="its name, else its id")
    name = serializers.CharField(help_text="of the state; empty where it is not known")
    kind = serializers.CharField(help_text="VALUE, LIST, MAP, REDUCING, AGGREGATING; empty where it is not known")
    expires = serializers.BooleanField(allow_null=True, help_text="null where the file that describes it cannot be read")


class StateExpirySerializer(serializers.Serializer[StateExpiry]):
    """Keyed states of a job by the ``_metadata`` of its newest completed checkpoint."""

    checkpoint_id = serializers.IntegerField(allow_null=True)
    why = serializers.CharField(help_text="what is missing where nothing is known, and what to do; else empty")
    sentence = serializers.CharField(help_text="how many live forever and which; empty where that is not known of any")
    states = NamedStateSerializer(many=True, help_text="at most 200, by operator")


def as_document(job: JobCurrent) -> dict[str, Any]:
    return dict(StateExpirySerializer(state_expiry(job)).data)


class StateExpiryView(APIView):
    @extend_schema(
        summary="Which keyed states of a job have a time-to-live",
        operation_id="jobs_backend_states",
        responses={200: StateExpirySerializer, **ERRORS, **NOT_FOUND},
    )
    def get(self, request: Request, cluster: str, job_id: str) -> Response:
        return Response(as_document(job_or_404(cluster, job_id)))
