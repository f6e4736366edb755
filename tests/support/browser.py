"""Pages in a real headless browser, if the machine has one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import MAX_WAIT_SECONDS

BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser() -> str:
    """Return the path of $LESLIED_BROWSER or of an installed browser, or ""."""
    names = [os.environ.get("LESLIED_BROWSER", ""), *BROWSER_NAMES]
    return next((path for name in names if name and (path := shutil.which(name))), "")


@dataclass(frozen=True)
class PageResult:
    """Console messages, requested URLs and the DOM of a loaded page."""

    console: list[str]
    requests: list[str]
    dom: str


def open_page(browser: str, page: Path, folder: Path, *options: str) -> PageResult:
    """Load a page without network access and return what the browser reported."""
    net_log = folder / "net.json"
    environ = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
    process = subprocess.run(
        [
            browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update",
            "--disable-dev-shm-usage", "--enable-logging=stderr", "--dump-dom",
            f"--user-data-dir={folder / 'profile'}", f"--log-net-log={net_log}",
            "--host-resolver-rules=MAP * ~NOTFOUND", *options, page.as_uri(),
        ],
        env=environ, capture_output=True, text=True, check=True,
        timeout=MAX_WAIT_SECONDS,
    )  # fmt: skip
    console = [line for line in process.stderr.split("\n") if ":CONSOLE:" in line]
    events = json.loads(net_log.read_text())["events"]
    urls = {str(e.get("params", {}).get("url", "")) for e in events}
    return PageResult(console, sorted(url for url in urls if url), process.stdout)
