from webapp.hosts.api.views import HostEventViews, JobHostViews, TaskManagerLifeViews
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("host-events", HostEventViews, "api-host-events"),
    ("job-hosts", JobHostViews, "api-job-hosts"),
    ("taskmanager-lives", TaskManagerLifeViews, "api-taskmanager-lives"),
)
