"""Addresses of deliveries below /api/v1/."""

from django.urls import path

from webapp.delivery.api.views import DeliveryViews, EndpointViews, NoticeSchemaView
from webapp.lib.api.routes import Routes

ROUTES: Routes = (
    ("endpoints", EndpointViews, "api-endpoints"),
    ("deliveries", DeliveryViews, "api-deliveries"),
)

urlpatterns = [
    path("notice-schema/", NoticeSchemaView.as_view(), name="api-notice-schema"),
]
