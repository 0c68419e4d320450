"""Addresses of the storage pages."""

from django.urls import path

from webapp.storage.views import overview

urlpatterns = [
    path("storage/", overview.storage, name="storage"),
]
