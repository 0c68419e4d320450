from django.urls import path

from webapp.profiles import views

OF_JOB = "jobs/<name:cluster>/<name:job_id>"
OF_VERTEX = f"{OF_JOB}/vertices/<name:vertex_id>"

urlpatterns = [
    path(f"{OF_JOB}/threads/ask", views.ask_dumps, name="threads-ask"),
    path(f"{OF_VERTEX}/", views.vertex, name="vertex"),
]
