from django.urls import path

from webapp.lib.api.routes import Routes
from webapp.storage.api.views import (
    AuditDoubtViews,
    ChainLinkViews,
    CheckpointStorageViews,
    JobStorageViews,
    MissingFileViews,
    RootFiguresViews,
    StorageAuditViews,
    StorageFilesView,
    StorageRootViews,
    StorageStatementViews,
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
    ("storage-statements", StorageStatementViews, "api-storage-statements"),
)

urlpatterns = [
    path("storage-files/", StorageFilesView.as_view(), name="api-storage-files"),
    path("storage-xray/", XrayView.as_view(), name="api-storage-xray"),
]
