"""Address of the palette's results."""

from django.urls import path

from webapp.site.palette.views import find

urlpatterns = [path("find/", find, name="find")]
