"""Which page lives where."""

from django.contrib import admin
from django.urls import path

from webapp.pipeline import probes

urlpatterns = [
    path("healthz", probes.healthz),
    path("readyz", probes.readyz),
    path("metrics", probes.metrics),
    path("admin/", admin.site.urls),
]
