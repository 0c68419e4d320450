"""Signing in and out, and a person's own account."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from webapp.accounts import views
from webapp.accounts.audit import views as audit

urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("access/audit/", audit.audit, name="access-audit"),
    path("access/audit.<export_form:form>", audit.export, name="access-audit-export"),
    path("account/", views.account, name="account"),
    path("account/password/", views.change_password, name="account-password"),
    path("account/tokens/", views.create_token, name="account-token-create"),
    path("account/tokens/<int:pk>/revoke/", views.revoke_token, name="account-token-revoke"),
]
