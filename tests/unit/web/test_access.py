"""Links, cookies and form tokens."""

from __future__ import annotations

import pytest

from leslied.app import App
from leslied.web.access import COOKIE_SECONDS, LINK_SECONDS, Access
from tests.support.clock import FakeClock

pytestmark = pytest.mark.threat("W3")


def log_in(access: Access) -> str:
    cookie = access.redeem(access.make_code())
    assert cookie
    return cookie


def test_a_link_gives_a_cookie(access: Access):
    cookie = log_in(access)

    assert access.find_valid_cookie([cookie]) == cookie


def test_a_link_works_once(access: Access):
    code = access.make_code()

    assert access.redeem(code)
    assert access.redeem(code) is None


def test_a_used_link_does_not_work_with_another_process(app: App, access: Access):
    code = access.make_code()
    access.redeem(code)

    assert Access(app.paths, app.clock).redeem(code) is None


def test_any_process_of_the_user_can_make_a_link(app: App, access: Access):
    assert access.redeem(Access(app.paths, app.clock).make_code())


def test_a_link_expires(access: Access, clock: FakeClock):
    code = access.make_code()
    clock.advance(LINK_SECONDS)

    assert access.redeem(code) is None


def test_records_of_expired_links_are_deleted(
    app: App, access: Access, clock: FakeClock
):
    log_in(access)
    clock.advance(LINK_SECONDS)
    log_in(access)

    assert len(list(app.paths.web_links_dir.iterdir())) == 1


def test_a_cookie_works_for_a_month(access: Access, clock: FakeClock):
    cookie = log_in(access)
    clock.advance(COOKIE_SECONDS - 1)
    before = access.find_valid_cookie([cookie])
    clock.advance(1)

    assert before == cookie
    assert access.find_valid_cookie([cookie]) is None


def test_the_code_of_a_link_is_not_a_cookie(access: Access):
    assert access.find_valid_cookie([access.make_code()]) is None
    assert access.redeem(log_in(access)) is None


def test_the_valid_one_of_several_cookies_counts(access: Access):
    cookie = log_in(access)

    assert access.find_valid_cookie(["", "forged", cookie, "x"]) == cookie


@pytest.mark.parametrize(
    "value",
    ["", ".", "..", "a.b.c", "9999999999.x.", "1" * 5000, "\ud800.\udcff", "é.ü", "\0"],
)
def test_an_odd_value_is_not_valid(access: Access, value: str):
    assert access.find_valid_cookie([value]) is None
    assert access.redeem(value) is None
    assert not access.is_valid_form_token("cookie", value)


@pytest.mark.parametrize("payload", ["", "soon", "-1.x", "١٢٣.x", "1e99.x", " 9.x"])
def test_a_signed_value_without_a_time_is_not_valid(access: Access, payload: str):
    value = f"{payload}.{access._sign('cookie', payload)}"

    assert access.find_valid_cookie([value]) is None


def test_every_changed_character_ends_a_cookie(access: Access):
    cookie = log_in(access)
    forged = [
        cookie[:i] + ("0" if character != "0" else "1") + cookie[i + 1 :]
        for i, character in enumerate(cookie)
    ]

    assert access.find_valid_cookie(forged) is None


def test_a_form_token_belongs_to_one_cookie(access: Access):
    one, other = log_in(access), log_in(access)
    token = access.make_form_token(one)

    assert access.is_valid_form_token(one, token)
    assert not access.is_valid_form_token(other, token)


def test_a_new_key_ends_all_logins_in_every_process(app: App, access: Access):
    cookie, code = log_in(access), access.make_code()

    Access(app.paths, app.clock).end_all_logins()

    assert access.find_valid_cookie([cookie]) is None
    assert access.redeem(code) is None
    assert log_in(access)


def test_a_proof_is_for_one_port_and_one_challenge(access: Access):
    proof = access.make_proof(1, "a")

    assert access.is_valid_proof(1, "a", proof)
    assert not access.is_valid_proof(2, "a", proof)
    assert not access.is_valid_proof(1, "b", proof)


def test_only_the_user_can_read_the_key_and_the_used_links(app: App, access: Access):
    log_in(access)

    paths = [app.paths.web_key_file, *app.paths.web_links_dir.iterdir()]
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert app.paths.web_links_dir.stat().st_mode & 0o777 == 0o700
