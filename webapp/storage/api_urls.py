"""Addresses of storage below /api/v1/."""

from django.urls import path

from webapp.lib.api.routes import Routes
from webapp.storage.api.merging import MergingView
from webapp.storage.api.retention import RetentionView
from webapp.storage.api.state_expiry import StateExpiryView
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

ROUTES: Routes = (
    ("storage-roots", StorageRootViews, "api-storage-roots"),
    ("storage-audits", StorageAuditViews, "api-storage-audits"),
    ("storage-root-figures", RootFiguresViews, "api-storage-root-figures"),
    ("storage-verdicts", VerdictFiguresViews, "api-storage-verdicts"),
    ("storage-jobs", JobStorageViews, "api-storage-jobs"),
    ("storage-checkpoints", CheckpointStorageViews, "api-storage-checkpoints"),
    ("storage-chains", ChainLinkViews, "api-storage-chains"),
    ("storage-missing", MissingFileViews, "api-storage-missing"),
    ("storage-doubts", AuditDoubtViews, "api-storage-doubts"),
    ("storage-age-rules", AgeRuleViews, "api-storage-age-rules"),
)

urlpatterns = [
    path("jobs/<name:cluster>/<name:job_id>/backend/states/", StateExpiryView.as_view(), name="api-job-state-expiry"),
    path("storage-files/", StorageFilesView.as_view(), name="api-storage-files"),
    path("storage-merging/", MergingView.as_view(), name="api-storage-merging"),
    path("storage-retention/", RetentionView.as_view(), name="api-storage-retention"),
    path("storage-xray/", XrayView.as_view(), name="api-storage-xray"),
]
