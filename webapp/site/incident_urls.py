from django.urls import path, re_path

from webapp.lib.menu import MenuEntry
from webapp.site.views import incidents

MENU = MenuEntry("Incidents", "incidents", of=("incident",))

urlpatterns = [
    path("incidents/", incidents.incidents, name="incidents"),
    re_path(r"^incidents/(?P<uid>inc_[a-z2-7]{26})/$", incidents.incident, name="incident"),
    re_path(
        r"^incidents/(?P<uid>inc_[a-z2-7]{26})/acknowledge$",
        incidents.acknowledge,
        name="incident-acknowledge",
    ),
    re_path(
        r"^incidents/(?P<uid>inc_[a-z2-7]{26})/assign$", incidents.assign, name="incident-assign"
    ),
    re_path(
        r"^incidents/(?P<uid>inc_[a-z2-7]{26})/silence$", incidents.silence, name="incident-silence"
    ),
]
