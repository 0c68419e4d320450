"""Signing in and out, and a person's own account."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from webapp.accounts import views
from webapp.accounts.forms import SignInForm

SIGN_IN = LoginView.as_view(template_name="accounts/sign_in.html", authentication_form=SignInForm, redirect_authenticated_user=True)

urlpatterns = [
    path("sign-in/", SIGN_IN, name="sign-in"),
    path("sign-out/", LogoutView.as_view(), name="sign-out"),
    path("account/", views.account, name="account"),
    path("account/password/", views.change_password, name="account-password"),
    path("account/tokens/", views.create_token, name="account-token-create"),
    path("account/tokens/<int:pk>/revoke/", views.revoke_token, name="account-token-revoke"),
]
