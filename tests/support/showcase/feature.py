"""The sessions that the pictures open: a bug that is fixed, and one at work now."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from leslied.model.record import SessionKey
from leslied.sessions.totals import propose_thread_id
from tests.support.showcase.logs import OPUS, ClaudeSession

PROMPT = (
    "Tide predictions for Bremerhaven are one hour off since the clocks changed. "
    "Find out why, fix it, and make sure that it cannot happen again."
)
CALENDAR = """\
def predict(station: Station, day: date) -> list[Tide]:
    start = datetime.combine(day, time(), station.zone)
    return [tide_at(station, start + n * STEP) for n in range(STEPS)]
"""
FIXED_CALENDAR = """\
def predict(station: Station, day: date) -> list[Tide]:
    \"\"\"Return the tides of a local day, which has 23, 24 or 25 hours.\"\"\"
    start, end = local_day(day, station.zone)
    return [tide_at(station, at) for at in every(STEP, start, end)]
"""
FAILURE = """\
    def test_the_day_on_which_clocks_go_back_has_25_hours():
        tides = predict(BREMERHAVEN, date(2026, 10, 25))
>       assert tides[-1].at.hour == 23
E       AssertionError: assert 22 == 23

tests/test_calendar.py:41: AssertionError
1 failed, 86 passed in 1.94s"""
ANSWER = """\
The predictions were computed in **local wall-clock time**. `start + n * STEP` adds \
hours to a date with a zone, and Python does that without looking at the zone: the day \
on which clocks go back has 25 hours, and everything after 03:00 was one hour early.

## What changed

| file | change |
|---|---|
| `tideline/calendar.py` | steps in UTC; converts to the station's zone at the end |
| `tideline/zones.py` | new `local_day()`: start and end of a local day in UTC |
| `tests/test_calendar.py` | both clock changes, and a property test over ten years |

```python
def local_day(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    start = datetime.combine(day, time(), zone)
    end = datetime.combine(day + timedelta(days=1), time(), zone)
    return start.astimezone(UTC), end.astimezone(UTC)
```

1. All **88 tests** pass, also the new ones.
2. Cached predictions from 25 October on are wrong and have to be computed again: \
`tideline cache clear --since 2026-10-25`.
"""
ZONES = """\
\"\"\"Local days, which do not always have 24 hours.\"\"\"

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo


def local_day(day: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    start = datetime.combine(day, time(), zone)
    end = datetime.combine(day + timedelta(days=1), time(), zone)
    return start.astimezone(UTC), end.astimezone(UTC)
"""
PLAN = """\
# Offline charts

Charts of a chosen area work without a connection.

1. Tiles of an area as one file (PMTiles)
2. Choose an area and see its size before the download
3. Store it in the browser, evict the oldest
4. Predictions offline, computed on the device
"""
PROGRESS = """\
# Progress

- [x] Compare tile formats: PMTiles reads ranges, MBTiles needs a server
- [x] Build the tiles of an area in the pipeline
- [x] Serve ranges with the right headers
- [x] Area picker with an estimate of the size
- [ ] Download in the background, resume after a lost connection
- [ ] Evict the oldest area when the quota is reached
- [ ] Predictions on the device (blocked: station data is 40 MB)
"""


def write_bug_fix(home: Path, started_at: datetime) -> ClaudeSession:
    """Write the session that the reader's picture shows."""
    session = ClaudeSession(home, "clock-change", "tideline", started_at, OPUS)
    session.prompt(PROMPT)
    session.think(
        "One hour, since the clocks changed: somewhere local times are added up. "
        "I look at how a day is divided into steps, and who else does that."
    )
    session.say("I'll look at how a day is divided, and whether others do the same.")
    session.calls(
        (
            "Grep",
            {"pattern": "datetime.combine", "path": str(session.cwd)},
            "tideline/calendar.py:18\ntideline/export.py:52\ntests/test_calendar.py:12",
        ),
        ("Read", {"file_path": str(session.cwd / "tideline/calendar.py")}, CALENDAR),
    )
    session.delegate(
        (
            "Explore",
            "Find other sums of local times",
            [
                ("Grep", {"pattern": r"\+ timedelta"}, "tideline/export.py:57"),
                ("Read", {"file_path": "tideline/export.py"}, "def rows(day): …"),
            ],
            "Only `tideline/export.py:57` adds to a local time: whole days. Correct.",
        ),
        (
            "Explore",
            "Find what caches predictions",
            [("Grep", {"pattern": "cache"}, "tideline/cache.py:9: PREDICTIONS")],
            "`tideline/cache.py` keeps predictions for 30 days, by station and day.",
        ),
    )
    session.edit(
        "tests/test_calendar.py",
        "def test_a_day_has_24_hours():",
        "def test_the_day_on_which_clocks_go_back_has_25_hours():\n"
        "    tides = predict(BREMERHAVEN, date(2026, 10, 25))\n"
        "    assert tides[-1].at.hour == 23\n\n\n"
        "def test_a_day_has_24_hours():",
    )
    session.bash("pytest -q tests/test_calendar.py", FAILURE, 3, fails=True)
    session.say("The test shows the bug. Now the fix: steps in UTC.")
    session.write("tideline/zones.py", ZONES)
    session.edit("tideline/calendar.py", CALENDAR, FIXED_CALENDAR)
    session.bash("pytest -q", "88 passed in 2.31s", 4)
    session.answer(ANSWER)
    session.prompt("Clear the cache for those days and open a pull request.")
    session.bash(
        "tideline cache clear --since 2026-10-25", "412 predictions deleted.", 2
    )
    session.bash(
        "gh pr create --fill",
        "https://git.example.org/tideline/pull/214",
        5,
    )
    session.title("Fix tide times after the clock change")
    session.answer(
        "412 cached predictions are deleted, and the pull request is open: **#214**, "
        "*Compute the steps of a day in UTC*."
    )
    return session


def find_thread_id(session: ClaudeSession) -> str:
    """Return the id that leslied gives to the session's thread."""
    return propose_thread_id(SessionKey("claude-code", session.session_id))


def write_plan(home: Path, started_at: datetime) -> ClaudeSession:
    """Write a session whose thread has a plan, and a fork of it."""
    session = ClaudeSession(home, "offline", "atlas-web", started_at, OPUS)
    thread = f".leslie/threads/{find_thread_id(session)}"
    session.prompt("Plan offline charts: what is the smallest version that helps?")
    session.think("Tiles first; predictions offline need the station data.")
    session.title("Plan offline charts")
    session.write(f"{thread}/plan.md", PLAN)
    session.answer("The plan has four steps; the first two are useful on their own.")
    _write_fork(home, session)
    session.prompt("Start with the tiles, and keep the progress up to date.")
    session.bash("make tiles AREA=elbe", "elbe.pmtiles  38.2 MB", 41)
    session.write(f"{thread}/progress.md", PROGRESS)
    session.answer("Steps 1 and 2 work. Next: downloads in the background.")
    return session


def _write_fork(home: Path, plan: ClaudeSession) -> None:
    """Write a session that goes on differently, an hour later."""
    fork = plan.fork(home, "offline-fork", 4000)
    fork.title("Measure predictions on the device")
    fork.prompt("Try predictions on the device first: how large is the station data?")
    fork.bash("du -h data/stations.parquet", "40M  data/stations.parquet")
    fork.answer("40 MB is too much for a phone. By area it is 0.3 to 2 MB.")


def write_live_session(home: Path, now: datetime) -> None:
    """Write a session that has not finished its turn."""
    started_at = now - timedelta(minutes=6)
    session = ClaudeSession(home, "downloads", "atlas-web", started_at, OPUS)
    session.prompt("Resume downloads of chart areas after a lost connection.")
    session.title("Resume downloads of chart areas")
    session.say("Range requests are there. I store how far each download came.")
    session.edit(
        "src/download.ts",
        "await fetch(url)",
        "await fetch(url, { headers: { Range: `bytes=${done}-` } })",
    )
    session.bash(
        "npm test -- download", "✓ 14 tests\n✗ resumes after 206", 9, fails=True
    )
    session.say("The server answers 200 to the first range. I look at the proxy.")
    session.call("Bash", {"command": "npm run dev -- --trace-ranges"}, None)
