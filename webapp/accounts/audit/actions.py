"""URL names → the action code of the audit log, and the model of the row that the URL identifies. A
new write also needs its fields that may be shown (``entered_fields.py``) and its declaration in
``tests/attacks/writes.py``; in the API, permissions other than ``ScopedAccess`` end with
``audited(…)``.
"""

from collections.abc import Iterable

SIGN_IN = "sign-in"
UNDECLARED = "other.write"
NEW_PERSON = "person.add"

MODELS = {
    "alert": "alerting.Alert",
    "cluster": "fleet.Cluster",
    "delivery": "delivery.Delivery",
    "endpoint": "delivery.Endpoint",
    "incident": "incidents.Incident",
    "person": "accounts.User",
    "plan": "cleanup.CleanupPlan",
    "push-token": "push.PushToken",
    "objective": "growth.Objective",
    "report": "reports.IncidentReport",
    "rule-setting": "alerting.RuleSetting",
    "sessions": "accounts.User",
    "silence": "alerting.Silence",
    "storage-root": "storage.StorageRoot",
    "storage-statement": "storage.StorageStatement",
    "threshold": "findings.ThresholdOverride",
    "token": "accounts.ApiToken",
}

OWNERS = {"access-user-token-revoke": "person", "push-tokens": "cluster"}
"""URL whose parameter identifies a row of another model → first part of that model's actions."""

ACTIONS = {
    "sign-in": SIGN_IN,
    "sign-out": "sign-out",
    "account-password": "password.change",
    "account-token-create": "token.issue",
    "account-token-revoke": "token.revoke",
    "account-sign-out": "sessions.end",
    "choose-language": "language.choose",
    "choose-time-zone": "time-zone.choose",
    "access-user-add": NEW_PERSON,
    "access-user-change": "person.change",
    "access-user-switch": "person.disable",
    "access-user-switch with enable": "person.enable",
    "access-user-password": "person.password",
    "access-user-sign-out": "sessions.end",
    "access-user-remove": "person.remove",
    "access-user-token-revoke": "token.revoke",
    "alerts-acknowledge": "alert.acknowledge",
    "alerts-acknowledge with take_back": "alert.take-back",
    "api-alerts-acknowledge": "alert.acknowledge",
    "api-alerts-take-back": "alert.take-back",
    "incident-acknowledge": "incident.acknowledge",
    "api-incidents-acknowledge": "incident.acknowledge",
    "incident-acknowledge with take_back": "incident.take-back",
    "incident-assign": "incident.assign",
    "api-incidents-assign": "incident.assign",
    "incident-silence": "incident.silence",
    "api-incidents-silence": "incident.silence",
    "api-incidents-take-back": "incident.take-back",
    "silence-new": "silence.add",
    "api-silences-list": "silence.add",
    "silence-end": "silence.end",
    "api-silences-end": "silence.end",
    "objective-set": "objective.set",
    "objective-remove": "objective.remove",
    "alert-setting": "rule-setting.set",
    "alert-setting-remove": "rule-setting.remove",
    "threshold-save": "threshold.set",
    "threshold-remove": "threshold.remove",
    "endpoint-add": "endpoint.add",
    "endpoint-edit": "endpoint.change",
    "endpoint-remove": "endpoint.remove",
    "endpoint-rotate": "endpoint.new-secret",
    "endpoint-test": "endpoint.test",
    "endpoint-switch": "endpoint.disable",
    "endpoint-switch with enable": "endpoint.enable",
    "deliveries-replay": "delivery.replay",
    "delivery-replay": "delivery.replay",
    "threads-ask": "thread-dump.ask",
    "replication-ask": "copy.ask",
    "replication-order": "copy.order",
    "reports-new": "report.make",
    "api-reports-list": "report.make",
    "report-delete": "report.remove",
    "api-reports-detail": "report.remove",
    "cluster-add": "cluster.add",
    "cluster-add with test": "cluster.test",
    "cluster-edit": "cluster.change",
    "cluster-edit with test": "cluster.test",
    "cluster-test": "cluster.test",
    "cluster-pause": "cluster.pause",
    "cluster-pause with resume": "cluster.resume",
    "cluster-remove": "cluster.remove",
    "demo-remove": "demo.remove",
    "push-tokens": "push-token.issue",
    "push-token-revoke": "push-token.revoke",
    "storage-audit-now": "storage.audit",
    "storage-root-add": "storage-root.add",
    "storage-root-edit": "storage-root.change",
    "storage-root-attest": "storage-root.attest",
    "storage-root-attest with withdraw": "storage-root.withdraw",
    "storage-root-remove": "storage-root.remove",
    "storage-statement": "storage-statement.make",
    "storage-statement-end": "storage-statement.take-back",
    "cleanup-plan-make": "plan.make",
    "api-cleanup-plans-list": "plan.make",
    "cleanup-plan-order": "plan.order",
    "api-cleanup-plans-order": "plan.order",
    "cleanup-plan-approve": "plan.approve",
    "api-cleanup-plans-approve": "plan.approve",
}
"""URL name, or URL name with a button of the form → action code."""


def action_of(url_name: str, field_names: Iterable[str] = ()) -> str:
    keys = (*(f"{url_name} with {name}" for name in field_names), url_name)
    return next((ACTIONS[key] for key in keys if key in ACTIONS), UNDECLARED)


def model_of(url_name: str, action: str) -> str:
    return MODELS.get(OWNERS.get(url_name) or action.partition(".")[0], "")


def action_codes() -> list[str]:
    return sorted({UNDECLARED, NEW_PERSON, *ACTIONS.values()})
