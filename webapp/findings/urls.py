from django.urls import path

from webapp.findings.views import findings, rules
from webapp.lib.menu import MenuEntry

MENU = MenuEntry("Findings", "findings", of=("finding", "rule"))

urlpatterns = [
    path("findings/", findings.findings, name="findings"),
    path("findings/<int:pk>/", findings.finding, name="finding"),
    path("rules/", rules.rules, name="rules"),
    path("rules/<name:rule_id>/", rules.rule, name="rule"),
]
