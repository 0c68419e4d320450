from webapp.alerting.models.alert import Alert, AlertEvent
from webapp.alerting.models.group import AlertGroup
from webapp.alerting.models.mutes import Silence
from webapp.alerting.models.setting import RuleSetting

__all__ = ["Alert", "AlertEvent", "AlertGroup", "RuleSetting", "Silence"]
