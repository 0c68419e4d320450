"""Alert rules about Weir itself, from the file for Prometheus."""

import yaml

from webapp.site.documentation.markdown import plain, table
from webapp.site.views.monitoring import FOLDER

HEAD = """# Alert rules about Weir itself

These rules are for a Prometheus that scrapes `/metrics` as the job `weir`. The file is
`webapp/site/monitoring/weir.rules.yml`; you can also download it on the page *Pipeline*.

"""


def pages() -> dict[str, str]:
    rules = [
        rule
        for group in yaml.safe_load((FOLDER / "weir.rules.yml").read_text())["groups"]
        for rule in group["rules"]
    ]
    rows = [
        (
            f"`{rule['alert']}`",
            rule["labels"]["severity"],
            f"`{' '.join(rule['expr'].split())}`",
            rule.get("for", "at once"),
            plain(rule["annotations"]["next_step"]),
        )
        for rule in rules
    ]
    shown = table(("alert", "severity", "when", "for", "next step"), rows)
    return {"reference/alert-rules.md": f"{HEAD}{shown}\n"}
