"""Addresses of the fleet, of jobs and of clusters."""

from django.urls import path, re_path

from webapp.fleet.views import clusters, fleet, job_charts, jobs

JOB = r"^jobs/(?P<cluster>[^/]+)/(?P<job_id>[^/]+)/"

urlpatterns = [
    path("", fleet.fleet, name="fleet"),
    re_path(r"^fleet\.(?P<form>csv|json)$", fleet.export, name="fleet-export"),
    path("jobs/<str:cluster>/<str:job_id>/", jobs.job, name="job"),
    re_path(JOB + r"checkpoints\.(?P<form>csv|json)$", jobs.checkpoints_export, name="job-checkpoints-export"),
    path("jobs/<str:cluster>/<str:job_id>/charts/checkpoints", job_charts.checkpoints, name="job-chart-checkpoints"),
    path("jobs/<str:cluster>/<str:job_id>/charts/size", job_charts.size, name="job-chart-size"),
    path("jobs/<str:cluster>/<str:job_id>/charts/pools", job_charts.pools, name="job-chart-pools"),
    path("clusters/", clusters.clusters, name="clusters"),
    path("clusters/add/", clusters.add, name="cluster-add"),
    path("clusters/<str:name>/", clusters.edit, name="cluster-edit"),
    path("clusters/<str:name>/test/", clusters.test, name="cluster-test"),
    path("clusters/<str:name>/pause/", clusters.pause, name="cluster-pause"),
    path("clusters/<str:name>/remove/", clusters.remove, name="cluster-remove"),
]
