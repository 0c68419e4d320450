"""Endpoints and deliveries in the administration: to look at, without anything that is secret."""

from django.contrib import admin

from webapp.config.readonly_admin import ReadOnlyAdmin
from webapp.delivery.models import Delivery, Endpoint


@admin.register(Endpoint)
class EndpointAdmin(ReadOnlyAdmin):
    list_display = ("name", "format", "url_shown", "enabled", "failures", "last_delivered_at")
    exclude = (
        "url_encrypted",
        "credential_encrypted",
        "secret_encrypted",
        "previous_secret_encrypted",
    )


@admin.register(Delivery)
class DeliveryAdmin(ReadOnlyAdmin):
    list_display = ("uid", "endpoint", "state", "title", "made_at", "attempts")
    list_filter = ("state", "kind")
