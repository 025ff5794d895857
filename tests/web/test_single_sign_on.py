"""Single sign-on in a real browser, at a real provider on loopback."""

from pathlib import Path

from playwright.sync_api import expect

from tests.asking import asker
from tests.http.oidc_provider import CLIENT, CLIENT_SECRET, provider
from tests.live import live
from tests.web.pages import Watched


def test_a_person_signs_in_by_single_sign_on_and_out_again(
    visitor: Watched, tmp_path: Path
) -> None:
    with provider() as idp:
        settings = {
            "MUSTER_OIDC_ISSUER": idp.issuer,
            "MUSTER_OIDC_CLIENT_ID": CLIENT,
            "MUSTER_OIDC_SECRET_ENV": "SSO_SECRET",
            "SSO_SECRET": CLIENT_SECRET,
        }
        with live(tmp_path, **settings) as server:
            with asker(server, server.token) as boss:
                boss.asked("PUT", "/api/users/Ada", 200, json={"role": "member"})
            page = visitor.context.new_page()
            page.goto(f"{server.url}/#/time")
            idp.error = "access_denied"
            page.get_by_role("button", name="Single sign-on").click()
            expect(page.get_by_role("alert")).to_contain_text("access_denied")
            idp.error = ""
            page.get_by_role("button", name="Single sign-on").click()
            expect(page.locator("connection-pill")).to_have_text("live")
            expect(page.locator(".notice.reader")).to_contain_text("signed in as Ada, a member")
            assert page.url == f"{server.url}/#/time"
            page.get_by_role("button", name="Sign out").click()
            expect(page.get_by_role("button", name="Single sign-on")).to_be_visible()
