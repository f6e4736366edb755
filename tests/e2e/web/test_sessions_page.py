"""The list of sessions, in a real browser."""

from __future__ import annotations

import pytest

from tests.support.web import BrowserPage, find_accessibility_problems

pytestmark = [pytest.mark.e2e, pytest.mark.heavy]


def test_the_list_leads_to_the_session(shown: BrowserPage):
    page = shown.open("/")

    page.click("main a")
    page.wait_for_url("**/s/*")


def test_the_list_is_accessible(shown: BrowserPage):
    page = shown.open("/")

    assert find_accessibility_problems(page) == []
