"""Addresses that are secrets themselves."""

from __future__ import annotations

import pytest

from leslied.redact import Redactor

redact = Redactor(b"key").redact


@pytest.mark.threat("S1")
@pytest.mark.parametrize(
    "url",
    [
        "https://api.netlify.com/build_hooks/{}",
        "https://api.vercel.com/v1/integrations/deploy/prj_tIGzjTD5EWpU1H2GbxJ1Tefw0h5Y/{}",
        "https://api.render.com/deploy/srv-yf76069lh4yc9qphdry2?key={}",
        "https://calendar.google.com/calendar/ical/me%40example.com/private-{0}beef2026/basic.ics",
    ],
)
def test_an_address_that_acts_for_everybody_is_redacted(url: str):
    assert "51489ac09f39ebfa4b340743" not in redact(
        url.format("51489ac09f39ebfa4b340743")
    )


@pytest.mark.threat("S5")
@pytest.mark.parametrize(
    "url",
    [
        "https://api.netlify.com/api/v1/sites/51489ac09f39ebfa4b340743",
        "https://api.render.com/deploy/srv-yf76069lh4yc9qphdry2",
        "https://calendar.google.com/calendar/ical/me%40example.com/public/basic.ics",
    ],
)
def test_other_addresses_are_kept(url: str):
    assert redact(url) == url
