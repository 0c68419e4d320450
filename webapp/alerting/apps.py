from django.apps import AppConfig


class AlertingConfig(AppConfig):
    name = "webapp.alerting"

    def ready(self) -> None:
        from webapp.alerting import evaluation_hint  # models are loaded now
        from webapp.findings.signals import findings_changed

        findings_changed.connect(
            lambda **_kwargs: evaluation_hint.wake(), weak=False, dispatch_uid="alerting.waking"
        )
