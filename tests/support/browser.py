"""A real browser, where the machine has one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import PATIENCE_SECONDS

BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser() -> str:
    """The browser that LESLIED_BROWSER names, or one that is installed."""
    named = [os.environ.get("LESLIED_BROWSER", ""), *BROWSER_NAMES]
    return next((path for name in named if name and (path := shutil.which(name))), "")


@dataclass(frozen=True)
class PageResult:
    console: list[str]
    requests: list[str]
    dom: str


def open_page(browser: str, page: Path, folder: Path, *options: str) -> PageResult:
    """What the browser said, asked for and made of a page, without a network."""
    net = folder / "net.json"
    environ = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    done = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update",
            "--disable-dev-shm-usage", "--enable-logging=stderr", "--dump-dom",
            f"--user-data-dir={folder / 'profile'}", f"--log-net-log={net}",
            "--host-resolver-rules=MAP * ~NOTFOUND", *options, page.as_uri(),
        ],
        env=environ, capture_output=True, text=True, check=True,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    said = [line for line in done.stderr.split("\n") if ":CONSOLE:" in line]
    events = json.loads(net.read_text())["events"]
    asked = {str(e.get("params", {}).get("url", "")) for e in events}
    return PageResult(said, sorted(url for url in asked if url), done.stdout)
