from django.urls import path

from webapp.cleanup.missing_files import views

urlpatterns = [path("storage/missing-file/", views.missing_file, name="missing-file")]
