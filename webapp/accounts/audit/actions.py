"""What the audit log calls each write, by the name of its address; and whose rows the address names."""

from collections.abc import Iterable
from dataclasses import dataclass

SIGN_IN, SIGN_OUT = "sign-in", "sign-out"
ADMINISTRATION = "administration.change"
UNDECLARED = "other.write"
NEW_PERSON = "person.add"
NEVER = ("api-push-json", "api-push-otlp", "api-push-otlp-metrics", "api-push-loki")
"""What log shippers push every few seconds with tokens that open nothing else: measurements, and nobody's decision."""


@dataclass(frozen=True)
class Action:
    """``of``: the model (``app.Model``) whose row the parameter ``pk``, ``uid`` or ``name`` of the address is."""

    code: str
    of: str = ""


_PERSON, _TOKEN, _ALERT, _INCIDENT, _ENDPOINT = (
    "accounts.User",
    "accounts.ApiToken",
    "alerting.Alert",
    "incidents.Incident",
    "delivery.Endpoint",
)
_VIEW = "accounts.SavedView"
_SILENCE, _WINDOW, _SETTING = "alerting.Silence", "alerting.MaintenanceWindow", "alerting.RuleSetting"
_DELIVERY, _REPORT, _PLAN, _CLUSTER = "delivery.Delivery", "reports.IncidentReport", "cleanup.CleanupPlan", "fleet.Cluster"
_THRESHOLD, _QUOTA, _ROOT, _SHIPPER = "findings.ThresholdOverride", "growth.StorageQuota", "storage.StorageRoot", "push.PushToken"

ACTIONS: dict[str, Action] = {
    "sign-in": Action(SIGN_IN),
    "admin:login": Action(SIGN_IN),
    "sign-out": Action(SIGN_OUT),
    "admin:logout": Action(SIGN_OUT),
    "account-password": Action("password.change"),
    "admin:password_change": Action("password.change"),
    "account-token-create": Action("token.issue"),
    "account-token-revoke": Action("token.revoke", _TOKEN),
    "account-sign-out": Action("sessions.end"),
    "choose-language": Action("language.choose"),
    "choose-time-zone": Action("time-zone.choose"),
    "saved-view-save": Action("saved-view.save"),
    "api-saved-views-list": Action("saved-view.save"),
    "saved-view-change": Action("saved-view.change", _VIEW),
    "api-saved-views-detail": Action("saved-view.change", _VIEW),
    "saved-view-remove": Action("saved-view.remove", _VIEW),
    "api-saved-views-detail delete": Action("saved-view.remove", _VIEW),
    "access-user-add": Action(NEW_PERSON),
    "access-user-change": Action("person.change", _PERSON),
    "access-user-switch": Action("person.disable", _PERSON),
    "access-user-switch with enable": Action("person.enable", _PERSON),
    "access-user-password": Action("person.password", _PERSON),
    "access-user-sign-out": Action("sessions.end", _PERSON),
    "access-user-remove": Action("person.remove", _PERSON),
    "access-user-token-revoke": Action("token.revoke", _PERSON),
    "alerts-acknowledge": Action("alert.acknowledge"),
    "alerts-acknowledge with take_back": Action("alert.take-back"),
    "api-alerts-acknowledge": Action("alert.acknowledge", _ALERT),
    "api-alerts-take-back": Action("alert.take-back", _ALERT),
    "alert-comment": Action("alert.comment", _ALERT),
    "api-alerts-comment": Action("alert.comment", _ALERT),
    "incident-acknowledge": Action("incident.acknowledge", _INCIDENT),
    "api-incidents-acknowledge": Action("incident.acknowledge", _INCIDENT),
    "incident-acknowledge with take_back": Action("incident.take-back", _INCIDENT),
    "incident-silence": Action("incident.silence", _INCIDENT),
    "api-incidents-silence": Action("incident.silence", _INCIDENT),
    "api-incidents-take-back": Action("incident.take-back", _INCIDENT),
    "silence-new": Action("silence.add"),
    "api-silences-list": Action("silence.add"),
    "silence-end": Action("silence.end", _SILENCE),
    "api-silences-end": Action("silence.end", _SILENCE),
    "maintenance-new": Action("maintenance-window.add"),
    "api-maintenance-windows-list": Action("maintenance-window.add"),
    "maintenance-end": Action("maintenance-window.end", _WINDOW),
    "api-maintenance-windows-end": Action("maintenance-window.end", _WINDOW),
    "growth-quota": Action("quota.set"),
    "growth-quota-remove": Action("quota.remove", _QUOTA),
    "alert-setting": Action("rule-setting.set"),
    "api-rule-settings-list": Action("rule-setting.set"),
    "api-rule-settings-preview": Action("rule-setting.preview"),
    "alert-setting-remove": Action("rule-setting.remove", _SETTING),
    "api-rule-settings-detail": Action("rule-setting.remove", _SETTING),
    "threshold-save": Action("threshold.set"),
    "api-thresholds-list": Action("threshold.set"),
    "threshold-remove": Action("threshold.remove", _THRESHOLD),
    "api-thresholds-detail": Action("threshold.remove", _THRESHOLD),
    "endpoint-add": Action("endpoint.add"),
    "api-endpoints-list": Action("endpoint.add"),
    "endpoint-edit": Action("endpoint.change", _ENDPOINT),
    "api-endpoints-detail": Action("endpoint.change", _ENDPOINT),
    "api-endpoints-detail delete": Action("endpoint.remove", _ENDPOINT),
    "endpoint-remove": Action("endpoint.remove", _ENDPOINT),
    "endpoint-rotate": Action("endpoint.new-secret", _ENDPOINT),
    "api-endpoints-rotate": Action("endpoint.new-secret", _ENDPOINT),
    "endpoint-test": Action("endpoint.test", _ENDPOINT),
    "api-endpoints-test": Action("endpoint.test", _ENDPOINT),
    "endpoint-switch": Action("endpoint.disable", _ENDPOINT),
    "endpoint-switch with enable": Action("endpoint.enable", _ENDPOINT),
    "api-endpoints-enable": Action("endpoint.enable", _ENDPOINT),
    "api-endpoints-disable": Action("endpoint.disable", _ENDPOINT),
    "deliveries-replay": Action("delivery.replay"),
    "api-deliveries-replay-range": Action("delivery.replay"),
    "delivery-replay": Action("delivery.replay", _DELIVERY),
    "api-deliveries-replay": Action("delivery.replay", _DELIVERY),
    "vertex-flame-graph": Action("flame-graph.ask"),
    "threads-ask": Action("thread-dump.ask"),
    "replication-ask": Action("copy.ask"),
    "replication-order": Action("copy.order"),
    "reports-new": Action("report.make"),
    "reports-digest": Action("report.make"),
    "api-reports-list": Action("report.make"),
    "report-again": Action("report.make", _REPORT),
    "report-delete": Action("report.remove", _REPORT),
    "api-reports-detail": Action("report.remove", _REPORT),
    "cluster-add": Action("cluster.add"),
    "cluster-add with test": Action("cluster.test"),
    "cluster-edit": Action("cluster.change", _CLUSTER),
    "cluster-edit with test": Action("cluster.test", _CLUSTER),
    "cluster-test": Action("cluster.test", _CLUSTER),
    "cluster-pause": Action("cluster.pause", _CLUSTER),
    "cluster-pause with resume": Action("cluster.resume", _CLUSTER),
    "cluster-remove": Action("cluster.remove", _CLUSTER),
    "demo-remove": Action("demo.remove"),
    "push-tokens": Action("push-token.issue", _CLUSTER),
    "push-token-revoke": Action("push-token.revoke", _SHIPPER),
    "storage-audit-now": Action("storage.audit"),
    "storage-root-add": Action("storage-root.add"),
    "storage-root-edit": Action("storage-root.change", _ROOT),
    "storage-root-attest": Action("storage-root.attest", _ROOT),
    "storage-root-attest with withdraw": Action("storage-root.withdraw", _ROOT),
    "storage-root-remove": Action("storage-root.remove", _ROOT),
    "storage-simulator": Action("storage.simulate"),
    "cleanup-plan-make": Action("plan.make"),
    "api-cleanup-plans-list": Action("plan.make"),
    "cleanup-plan-order": Action("plan.order", _PLAN),
    "api-cleanup-plans-order": Action("plan.order", _PLAN),
    "cleanup-plan-approve": Action("plan.approve", _PLAN),
    "api-cleanup-plans-approve": Action("plan.approve", _PLAN),
}
"""By address; by address and method; by address and a button of its form that does something else than the address says."""

COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "add_cluster": ("cluster.add", ()),
    "add_endpoint": ("endpoint.add", ()),
    "add_storage_root": ("storage-root.add", ("uri",)),
    "apply_cleanup": ("plan.order", ("apply", "undo", "purge")),
    "approve_cleanup": ("plan.approve", ()),
    "audit_storage": ("storage.audit", ()),
    "changepassword": ("person.password", ()),
    "create_token": ("token.issue", ()),
    "createsuperuser": (NEW_PERSON, ()),
    "deliveries": ("delivery.replay", ("replay",)),
    "discover": ("cluster.discover", ("apply",)),
    "import_recording": ("recording.import", ()),
    "plan_cleanup": ("plan.make", ()),
    "push_token": ("push-token.issue", ()),
    "reencrypt_secrets": ("weir.encrypt-again", ()),
    "remove_demo": ("demo.remove", ()),
    "replicate": ("copy.ask", ()),
    "scope_user": ("person.scope", ("grants", "everything", "nothing")),
    "simulate_age_rule": ("storage.simulate", ()),
    "storage_quota": ("quota.set", ("size", "remove")),
}
"""Commands that write → what the log calls it, and options of which one has to be given, or it only reads.
``ensure_admin`` makes its entry itself."""


def action_of(address: str, method: str, entered: Iterable[str] = ()) -> Action:
    """``address``: its name with the name space in front; ``entered``: names of the fields of a form."""
    for key in (*(f"{address} with {name}" for name in entered), f"{address} {method.lower()}", address):
        if key in ACTIONS:
            return ACTIONS[key]
    return Action(ADMINISTRATION if address.startswith("admin:") else UNDECLARED)


def codes() -> list[str]:
    """All that an entry can have, by name."""
    by_command = {code for code, _ in COMMANDS.values()}
    return sorted({ADMINISTRATION, UNDECLARED, NEW_PERSON, *by_command, *(action.code for action in ACTIONS.values())})
