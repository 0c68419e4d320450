from datetime import timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.views import LoginView, LogoutView
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts import devices, people, throttle
from webapp.accounts.models import ApiToken, User
from webapp.accounts.oidc.configured import is_configured
from webapp.accounts.oidc.views import SIGN_OUT
from webapp.accounts.roles import may_operate, role_of
from webapp.accounts.viewers import me
from webapp.lib import grants
from webapp.lib.matchers import BadMatcher
from webapp.lib.translations import gettext_lazy as _

MOST_TOKENS = 50
LIFETIMES = [("30", _("30 days")), ("90", _("90 days")), ("365", _("a year"))]


BLOCKED = _(
    "Too many failed attempts. Use a browser that you signed in with before, wait an hour, or ask "
    "an administrator."
)


class SignInForm(AuthenticationForm):
    """After too many failures, the form refuses without a check of the password."""

    def clean(self) -> dict[str, Any]:
        request, user_name = self.request, self.cleaned_data.get("username", "")
        if request is None:
            return super().clean()
        if not user_name or not self.cleaned_data.get("password"):
            return super().clean()
        try:
            subjects = throttle.begin(request, user_name)
        except throttle.Blocked:
            request.sign_in_blocked = True  # type: ignore[attr-defined]  # for the audit log
            raise ValidationError(BLOCKED, code="blocked") from None
        cleaned = super().clean()
        throttle.count_success(subjects)
        return cleaned


class TokenForm(forms.Form):
    name = forms.CharField(max_length=100, label=_("What it is for"))
    scope = forms.ChoiceField(choices=ApiToken.Scope.choices, label=_("May"))
    sees_only = forms.CharField(
        required=False,
        max_length=grants.LONGEST_TEXT,
        label=_("Sees only"),
        help_text=_(
            'One grant per line, such as cluster="prod-eu-1"; empty: what you see. It never '
            "sees more than you."
        ),
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
    )
    days = forms.TypedChoiceField(
        choices=LIFETIMES, coerce=int, initial="90", label=_("Expires after")
    )

    def __init__(self, *args: Any, operator: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not operator:
            read = ApiToken.Scope.READ
            scope = forms.ChoiceField(choices=[(read.value, read.label)], label=_("May"))
            self.fields["scope"] = scope

    def clean_sees_only(self) -> Any:
        try:
            return grants.entered(self.cleaned_data["sees_only"]) or None
        except BadMatcher as wrong:
            raise forms.ValidationError(str(wrong)) from None


class _PasswordForm(PasswordChangeForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["new_password1"].help_text = gettext("At least 12 characters.")
        self.fields["old_password"].widget.attrs.pop("autofocus", None)


class SignIn(LoginView):
    template_name = "accounts/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        offered = settings.WEIR.oidc_label if is_configured() else ""
        return super().get_context_data(**kwargs, oidc_label=offered)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        devices.remember(self.request, response)
        return response


class SignOut(LogoutView):
    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        provider_url = request.session.get(SIGN_OUT, "") if is_configured() else ""
        answer = super().post(request, *args, **kwargs)
        if not provider_url:
            return answer
        # By the policy ``form-action`` no form is redirected to another host, so a page does it.
        page = render(
            request,
            "accounts/signed_out.html",
            {"there": provider_url, "oidc_label": settings.WEIR.oidc_label},
        )
        page["Refresh"] = f"0; url={provider_url}"
        return page


@require_GET
@never_cache
def account(request: HttpRequest) -> HttpResponse:
    return _page(request, _PasswordForm(me(request)), TokenForm(operator=may_operate(me(request))))


@require_POST
@sensitive_post_parameters()
def change_password(request: HttpRequest) -> HttpResponse:
    user = me(request)
    form = _PasswordForm(user, request.POST)
    if form.is_valid():
        # Hashing takes its time: an administrator may close the account meanwhile.
        unchanged = User.objects.filter(
            pk=user.pk, password=user.password, session_epoch=user.session_epoch, is_active=True
        )
        if unchanged.update(password=form.save(commit=False).password):
            update_session_auth_hash(request, user)
            messages.success(
                request,
                gettext("Your password is changed; other sessions of yours are signed out."),
            )
        return redirect("account")
    return _page(request, form, TokenForm(operator=may_operate(me(request))))


@require_POST
@never_cache
def create_token(request: HttpRequest) -> HttpResponse:
    form = TokenForm(request.POST, operator=may_operate(me(request)))
    if form.is_valid() and ApiToken.objects.filter(user=me(request)).count() >= MOST_TOKENS:
        form.add_error(
            None, gettext("You have %(most)s tokens; revoke one first.") % {"most": MOST_TOKENS}
        )
    if not form.is_valid():
        return _page(request, _PasswordForm(me(request)), form)
    expires_at = timezone.now() + timedelta(days=form.cleaned_data["days"])
    token, text = ApiToken.objects.issue(
        me(request),
        form.cleaned_data["name"],
        form.cleaned_data["scope"],
        expires_at,
        form.cleaned_data["sees_only"],
    )
    return render(request, "accounts/token_created.html", {"token": token, "text": text})


@require_POST
def sign_out_everywhere(request: HttpRequest) -> HttpResponse:
    user = me(request)
    people.end_sessions(user)
    user.refresh_from_db()
    update_session_auth_hash(request, user)
    messages.success(
        request, gettext("All other sessions of yours are signed out. Tokens still work.")
    )
    return redirect("account")


@require_POST
def revoke_token(request: HttpRequest, pk: int) -> HttpResponse:
    get_object_or_404(ApiToken, pk=pk, user=me(request)).delete()
    return redirect("account")


def _page(
    request: HttpRequest, password_form: PasswordChangeForm, token_form: TokenForm
) -> HttpResponse:
    role = role_of(me(request))
    context = {
        "password_form": password_form,
        "token_form": token_form,
        "tokens": ApiToken.objects.filter(user=me(request)),
        "role": role.group if role else "",
    }
    return render(request, "accounts/account.html", context)
