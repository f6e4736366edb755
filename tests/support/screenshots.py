"""Take the pictures of the page for the README and the documentation.

    python -m tests.support.screenshots docs/images

The sessions are invented (`showcase`) and live in a temporary home. The pictures show
the real page in the machine's Chromium, in both themes.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser

from tests.support.cli import LesliedRunner
from tests.support.daemon import Daemon
from tests.support.png import make_small_png
from tests.support.showcase.feature import (
    find_thread_id,
    write_bug_fix,
    write_live_session,
    write_plan,
)
from tests.support.showcase.history import write_history
from tests.support.showcase.logs import ClaudeSession
from tests.support.web import WebServer, launch_browser, open_browser_page, serve_page

DESKTOP = (1440, 900)
PHONE = (390, 844)
THEMES = ("light", "dark")
_HOUR = 16
"""Time of day in the pictures."""
_MAX_OFFSET_HOURS = 14


class Picture(NamedTuple):
    """A picture: its name, the path that it shows, and the size of the window."""

    name: str
    path: str
    size: tuple[int, int] = DESKTOP


class Showcase(NamedTuple):
    """What the pictures open."""

    bug_fix: ClaudeSession
    plan: ClaudeSession


def write_home(home: Path, now: datetime, offset: timedelta) -> Showcase:
    """Write all sessions that are finished."""
    local = now + offset
    today = local.replace(hour=0, minute=0, second=0) - offset
    for project in ("tideline", "atlas-web", "ledger", "press"):
        (home / "code" / project / ".git").mkdir(parents=True)
    settings = home / ".config/leslied/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[output]\nbackfill = "project"\n')
    write_history(home, today)
    plan = write_plan(home, today + timedelta(hours=10.5))
    return Showcase(write_bug_fix(home, now - timedelta(minutes=52)), plan)


def list_pictures(showcase: Showcase) -> list[Picture]:
    """Return the pictures of all pages."""
    reader = f"/s/{showcase.bug_fix.session_id}"
    return [
        Picture("web-sessions", "/"),
        Picture("web-reader", reader),
        Picture("web-search", "/search?q=cache"),
        Picture("web-files", "/files"),
        Picture("web-stats", "/stats"),
        Picture("web-threads", f"/threads?thread={find_thread_id(showcase.plan)}"),
        Picture("web-phone", reader, PHONE),
    ]


@contextmanager
def serve_showcase(home: Path, zone: str) -> Iterator[WebServer]:
    """Serve the page of the sessions while a daemon reads them."""
    leslied = LesliedRunner(home)
    leslied.environ["TZ"] = zone
    assert leslied("sync", "--stop-all").code == 0
    write_live_session(home, datetime.now(UTC).replace(tzinfo=None))
    daemon = Daemon(home)
    try:
        with serve_page(leslied) as server:
            yield server
    finally:
        daemon.end(signal.SIGTERM)


def take_picture(
    browser: Browser, server: WebServer, picture: Picture, theme: str, zone: str
) -> bytes:
    """Return the page as a small PNG."""
    width, height = picture.size
    options = {
        "viewport": {"width": width, "height": height},
        "color_scheme": theme,
        "timezone_id": zone,
        "reduced_motion": "reduce",
        "device_scale_factor": 2 if picture.size == PHONE else 1,
    }
    with open_browser_page(browser, server, **options) as shown:
        page = shown.open(picture.path)
        page.wait_for_selector(".live-state[data-state=live]")
        page.wait_for_load_state("networkidle")
        return make_small_png(page.context, page.screenshot())


def choose_zone(now: datetime) -> tuple[str, timedelta]:
    """Return a time zone in which it is afternoon, and its offset.

    The days and hours in the pictures then do not depend on when they are taken.
    """
    hours = min(_HOUR - now.hour, _MAX_OFFSET_HOURS)
    # The sign of these names is that of POSIX: GMT-2 is east of Greenwich.
    return f"Etc/GMT{-hours:+d}" if hours else "Etc/GMT", timedelta(hours=hours)


def take_pictures(folder: Path, names: list[str]) -> None:
    """Write the named pictures, or all of them."""
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    zone, offset = choose_zone(now)
    home = Path(tempfile.mkdtemp(prefix="leslied-screenshots-"))
    try:
        showcase = write_home(home, now, offset)
        pictures = [
            picture
            for picture in list_pictures(showcase)
            if not names or picture.name in names
        ]
        with (
            serve_showcase(home, zone) as server,
            launch_browser() as browser,
        ):
            for picture in pictures:
                for theme in THEMES:
                    path = folder / f"{picture.name}-{theme}.png"
                    png = take_picture(browser, server, picture, theme, zone)
                    path.write_bytes(png)
                    print(f"{path}: {len(png) // 1000} KB")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """Write pictures into the folder in the first argument; then names of pictures."""
    folder, *names = sys.argv[1:]
    Path(folder).mkdir(parents=True, exist_ok=True)
    take_pictures(Path(folder), names)


if __name__ == "__main__":
    main()
