from django.urls import path

from webapp.lib.api.routes import Routes
from webapp.storage.api import views

ROUTES: Routes = (
    ("storage-roots", views.StorageRootViews, "api-storage-roots"),
    ("storage-audits", views.StorageAuditViews, "api-storage-audits"),
    ("storage-root-figures", views.RootFiguresViews, "api-storage-root-figures"),
    ("storage-verdicts", views.VerdictFiguresViews, "api-storage-verdicts"),
    ("storage-jobs", views.JobStorageViews, "api-storage-jobs"),
    ("storage-checkpoints", views.CheckpointStorageViews, "api-storage-checkpoints"),
    ("storage-chains", views.ChainLinkViews, "api-storage-chains"),
    ("storage-missing", views.MissingFileViews, "api-storage-missing"),
    ("storage-doubts", views.AuditDoubtViews, "api-storage-doubts"),
    ("storage-statements", views.StorageStatementViews, "api-storage-statements"),
)

urlpatterns = [
    path("storage-files/", views.StorageFilesView.as_view(), name="api-storage-files"),
    path("storage-xray/", views.XrayView.as_view(), name="api-storage-xray"),
]
