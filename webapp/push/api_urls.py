"""OTLP and Loki fix the ends of their paths."""

from django.urls import path

from webapp.push.api import schema as schema  # describes the tokens
from webapp.push.api.views import JsonPushView, LokiPushView, OtlpMetricsPushView, OtlpPushView

urlpatterns = [
    path("push/logs/", JsonPushView.as_view(), name="api-push-json"),
    path("push/v1/logs", OtlpPushView.as_view(), name="api-push-otlp"),
    path("push/v1/metrics", OtlpMetricsPushView.as_view(), name="api-push-otlp-metrics"),
    path("push/loki/api/v1/push", LokiPushView.as_view(), name="api-push-loki"),
]
