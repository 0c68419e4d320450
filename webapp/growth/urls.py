"""Addresses of growth."""

from django.urls import path

from webapp.growth import views

urlpatterns = [
    path("growth/", views.growth, name="growth"),
    path("growth.<export_form:form>", views.export, name="growth-export"),
    path("growth/chart", views.chart, name="growth-chart"),
    path("growth/quotas/set", views.quota, name="growth-quota"),
    path("growth/quotas/<int:pk>/remove", views.remove_quota, name="growth-quota-remove"),
]
