from django.urls import path, re_path

from webapp.accounts.guards import fleet_wide_only
from webapp.cleanup import views

urlpatterns = fleet_wide_only(
    [
        path("storage/plans/", views.plans, name="cleanup-plans"),
        path("storage/plans/new", views.make, name="cleanup-plan-make"),
        path("storage/plans/<int:pk>/", views.plan, name="cleanup-plan"),
        path("storage/plans/<int:pk>/progress", views.progress, name="cleanup-plan-progress"),
        path("storage/plans/<int:pk>/approve", views.approve, name="cleanup-plan-approve"),
        re_path(
            r"^storage/plans/(?P<pk>\d{1,19})/(?P<verb>apply|undo|purge|withdraw)$",
            views.order,
            name="cleanup-plan-order",
        ),
        path("storage/plans/<int:pk>/files.csv", views.export, name="cleanup-plan-export"),
        re_path(
            r"^storage/plans/(?P<pk>\d{1,19})/(?P<verb>apply|undo|purge)\.csv$",
            views.journal_export,
            name="cleanup-journal-export",
        ),
    ]
)
