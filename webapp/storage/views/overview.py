"""All roots and what the last audit found in them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from webapp.storage.models import StorageAudit, StorageRoot


def storage(request: HttpRequest) -> HttpResponse:
    roots = list(StorageRoot.objects.all())
    return render(request, "storage/storage.html", {"roots": roots, "audit": StorageAudit.objects.newest(), "now": timezone.now()})
