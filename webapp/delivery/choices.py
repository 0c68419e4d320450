from django.db import models

from webapp.lib.translations import gettext_lazy as _


class FormatName(models.TextChoices):
    WEIR = "weir", _("Weir JSON (signed)")
    SLACK = "slack", "Slack"
    TEAMS = "teams", "Microsoft Teams"
    DISCORD = "discord", "Discord"
    TELEGRAM = "telegram", "Telegram"
    FEISHU = "feishu", "Feishu / Lark"
    DINGTALK = "dingtalk", "DingTalk"
    PAGERDUTY = "pagerduty", "PagerDuty"
    JSM = "jsm", "Jira Service Management"
    INCIDENTIO = "incidentio", "incident.io"
    EMAIL = "email", _("E-mail")


class DeliveryState(models.TextChoices):
    """A delivery that is being sent is pending, too."""

    PENDING = "pending", _("pending")
    DELIVERED = "delivered", _("delivered")
    DEAD = "dead", _("dead")
    CANCELLED = "cancelled", _("cancelled")
