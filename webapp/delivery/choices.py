"""Stored values of endpoints and deliveries with their words."""

from django.db import models


class FormatName(models.TextChoices):
    """One module of :mod:`webapp.delivery.formats` each."""

    WEIR = "weir", "Weir JSON (signed)"
    ALERTMANAGER = "alertmanager", "Alertmanager"
    SLACK = "slack", "Slack"
    PAGERDUTY = "pagerduty", "PagerDuty"
    FEISHU = "feishu", "Feishu / Lark"
    DINGTALK = "dingtalk", "DingTalk"
    WECOM = "wecom", "WeCom"
    EMAIL = "email", "E-mail"


class DeliveryState(models.TextChoices):
    """``pending`` also while an attempt is under way: see its lease."""

    PENDING = "pending", "pending"
    DELIVERED = "delivered", "delivered"
    DEAD = "dead", "dead"
    CANCELLED = "cancelled", "cancelled"
