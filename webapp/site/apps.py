from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "webapp.site"
    label = "site"

    def ready(self) -> None:
        from webapp.site.declared import guard

        guard.connect()
