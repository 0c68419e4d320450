"""Address of what the palette shows."""

from django.urls import path

from webapp.site.palette.views import find

urlpatterns = [path("find/", find, name="find")]
