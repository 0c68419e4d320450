from django.urls import path, re_path

from webapp.alerting import open_count
from webapp.alerting.views import alerts, mutes, rule_settings
from webapp.lib.menu import MenuEntry

MENU = MenuEntry(
    "Alerts",
    "alerts",
    of=("alert", "silence", "setting", "endpoint", "deliver", "objective"),
    count=open_count.count,
    counts="alerts that fire and nobody has acknowledged; those of one incident count as one",
)

urlpatterns = [
    path("alerts/", alerts.alerts, name="alerts"),
    path("alerts/acknowledge", alerts.acknowledge, name="alerts-acknowledge"),
    path("alerts/silences/", mutes.silences, name="silences"),
    path("alerts/silences/new", mutes.silence_new, name="silence-new"),
    path("alerts/silences/matching", mutes.matching, name="silence-matching"),
    path("alerts/silences/<int:pk>/end", mutes.silence_end, name="silence-end"),
    path("alerts/settings/", rule_settings.rule_settings, name="alert-settings"),
    path("alerts/settings/rule", rule_settings.rule_setting, name="alert-setting"),
    path("alerts/settings/rule/<int:pk>/remove", rule_settings.remove, name="alert-setting-remove"),
    path("alerts/settings/threshold", rule_settings.threshold_save, name="threshold-save"),
    path(
        "alerts/settings/threshold/<int:pk>/remove",
        rule_settings.threshold_remove,
        name="threshold-remove",
    ),
    re_path(r"^alerts/(?P<uid>alr_[a-z2-7]{26})$", alerts.alert, name="alert"),
]
