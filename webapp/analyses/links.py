from django.urls import reverse

from webapp.analyses.document import Link


def job_link(cluster: str, job_id: str, name: str) -> Link:
    return Link(name, reverse("job", args=(cluster, job_id)))
