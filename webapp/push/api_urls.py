"""The protocols of OTLP and Loki define how their paths end."""

from django.urls import path

from webapp.push.api import schema as schema  # registers itself
from webapp.push.api.views import (
    JsonPushView,
    LokiPushView,
    OtlpMetricsPushView,
    OtlpPushView,
    OtlpTracesPushView,
)

urlpatterns = [
    path("push/logs/", JsonPushView.as_view(), name="api-push-json"),
    path("push/v1/logs", OtlpPushView.as_view(), name="api-push-otlp"),
    path("push/v1/metrics", OtlpMetricsPushView.as_view(), name="api-push-otlp-metrics"),
    path("push/v1/traces", OtlpTracesPushView.as_view(), name="api-push-otlp-traces"),
    path("push/loki/api/v1/push", LokiPushView.as_view(), name="api-push-loki"),
]
