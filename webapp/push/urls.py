from django.urls import path

from webapp.push import views

urlpatterns = [
    path("clusters/<name:cluster>/pushed-logs/", views.tokens, name="push-tokens"),
    path(
        "clusters/<name:cluster>/pushed-logs/<int:pk>/revoke/",
        views.revoke,
        name="push-token-revoke",
    ),
]
