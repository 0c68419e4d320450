from django.urls import path

from webapp.growth import objective_views, views

urlpatterns = [
    path("growth/", views.growth, name="growth"),
    path("growth/chart", views.chart, name="growth-chart"),
    path("objectives/", objective_views.objectives, name="objectives"),
    path("objectives/set", objective_views.objective_set, name="objective-set"),
    path("objectives/<int:pk>/remove", objective_views.objective_remove, name="objective-remove"),
]
