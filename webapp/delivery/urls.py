from django.urls import path

from webapp.accounts.guards import fleet_wide_only
from webapp.delivery.views import deliveries, endpoints

ENDPOINTS = [
    path("alerts/endpoints/", endpoints.endpoints, name="endpoints"),
    path("alerts/endpoints/add/", endpoints.add, name="endpoint-add"),
    path("alerts/endpoints/<int:pk>/", endpoints.endpoint, name="endpoint"),
    path("alerts/endpoints/<int:pk>/change/", endpoints.edit, name="endpoint-edit"),
    path("alerts/endpoints/<int:pk>/rotate/", endpoints.rotate, name="endpoint-rotate"),
    path("alerts/endpoints/<int:pk>/test/", endpoints.test, name="endpoint-test"),
    path("alerts/endpoints/<int:pk>/switch/", endpoints.switch, name="endpoint-switch"),
    path("alerts/endpoints/<int:pk>/remove/", endpoints.remove, name="endpoint-remove"),
]
urlpatterns = [
    *fleet_wide_only(ENDPOINTS),
    path("alerts/deliveries/", deliveries.deliveries, name="deliveries"),
    path("alerts/deliveries/replay/", deliveries.replay_dead, name="deliveries-replay"),
    path("alerts/deliveries/<str:uid>/", deliveries.delivery, name="delivery"),
    path("alerts/deliveries/<str:uid>/replay/", deliveries.replay, name="delivery-replay"),
]
