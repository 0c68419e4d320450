"""Addresses below /api/v1/."""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.routers import SimpleRouter

from webapp.accounts import api_schema as api_schema  # describes the tokens
from webapp.alerting.api.views import AlertViews, MaintenanceWindowViews, RuleSettingViews, SilenceViews, ThresholdViews
from webapp.checkpoints.api.views import CheckpointViews, RollupViews, SizeTrendViews, UploadViews
from webapp.cleanup.api import CleanupPlanViews
from webapp.delivery.api.views import DeliveryViews, EndpointViews, NoticeSchemaView
from webapp.findings.api.views import FindingViews
from webapp.fleet.api.views import ClusterViews, JobAnnotationViews, JobExceptionViews, JobViews, LogEventViews
from webapp.lib.api.docs import docs
from webapp.lib.api.errors import no_such_address
from webapp.pressure.api.views import PressureWindowViews
from webapp.reports.api import ReportViews
from webapp.site.api_job import JobDetailView
from webapp.storage.api.views import (
    AgeRuleViews,
    AuditDoubtViews,
    ChainLinkViews,
    CheckpointStorageViews,
    JobStorageViews,
    MissingFileViews,
    RootFiguresViews,
    StorageAuditViews,
    StorageFilesView,
    StorageRootViews,
    VerdictFiguresViews,
    XrayView,
)
from webapp.work.api.views import PipelineRunViews, SkippedInputViews

router = SimpleRouter()
router.register("clusters", ClusterViews, "api-clusters")
router.register("jobs", JobViews, "api-jobs")
router.register("checkpoints", CheckpointViews, "api-checkpoints")
router.register("checkpoint-rollups", RollupViews, "api-rollups")
router.register("checkpoint-uploads", UploadViews, "api-checkpoint-uploads")
router.register("size-trends", SizeTrendViews, "api-size-trends")
router.register("pressure-windows", PressureWindowViews, "api-pressure-windows")
router.register("findings", FindingViews, "api-findings")
router.register("alerts", AlertViews, "api-alerts")
router.register("silences", SilenceViews, "api-silences")
router.register("maintenance-windows", MaintenanceWindowViews, "api-maintenance-windows")
router.register("rule-settings", RuleSettingViews, "api-rule-settings")
router.register("thresholds", ThresholdViews, "api-thresholds")
router.register("log-events", LogEventViews, "api-log-events")
router.register("exceptions", JobExceptionViews, "api-exceptions")
router.register("annotations", JobAnnotationViews, "api-annotations")
router.register("pipeline-runs", PipelineRunViews, "api-pipeline-runs")
router.register("skipped-inputs", SkippedInputViews, "api-skipped-inputs")
router.register("storage-roots", StorageRootViews, "api-storage-roots")
router.register("storage-audits", StorageAuditViews, "api-storage-audits")
router.register("storage-root-figures", RootFiguresViews, "api-storage-root-figures")
router.register("storage-verdicts", VerdictFiguresViews, "api-storage-verdicts")
router.register("storage-jobs", JobStorageViews, "api-storage-jobs")
router.register("storage-checkpoints", CheckpointStorageViews, "api-storage-checkpoints")
router.register("storage-chains", ChainLinkViews, "api-storage-chains")
router.register("storage-missing", MissingFileViews, "api-storage-missing")
router.register("storage-doubts", AuditDoubtViews, "api-storage-doubts")
router.register("storage-age-rules", AgeRuleViews, "api-storage-age-rules")
router.register("reports", ReportViews, "api-reports")
router.register("cleanup-plans", CleanupPlanViews, "api-cleanup-plans")
router.register("endpoints", EndpointViews, "api-endpoints")
router.register("deliveries", DeliveryViews, "api-deliveries")

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/", JobDetailView.as_view(), name="api-job"),
    path("notice-schema/", NoticeSchemaView.as_view(), name="api-notice-schema"),
    path("storage-files/", StorageFilesView.as_view(), name="api-storage-files"),
    path("storage-xray/", XrayView.as_view(), name="api-storage-xray"),
    *router.urls,
    path("schema/", SpectacularJSONAPIView.as_view(), name="api-schema"),
    path("docs/", docs, name="api-docs"),
    re_path(r"^(?P<rest>.*)$", no_such_address),
]
