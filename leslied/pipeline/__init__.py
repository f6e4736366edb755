"""The flow, and the only place where rooms meet.

Two one-way streets meet at the store. *ingest*: discover, read, decode, commit.
*settle*: detect, assemble, render, write. After them *collect* lists what threads hold.
No threads, no sleep, no signals here.
"""

from __future__ import annotations

from leslied.pipeline.batch import Ingested
from leslied.pipeline.collect import Collect, Collected
from leslied.pipeline.ingest import Ingest
from leslied.pipeline.keep import Keep, KeptNow
from leslied.pipeline.publish import Publish, PublishedNow
from leslied.pipeline.relate import Relate, RelatedNow
from leslied.pipeline.settle import Settle, Settled
from leslied.pipeline.stops import Stops
from leslied.pipeline.streets import Streets
from leslied.pipeline.told import Heard, Told

__all__ = [
    "Collect",
    "Collected",
    "Heard",
    "Ingest",
    "Ingested",
    "Keep",
    "KeptNow",
    "Publish",
    "PublishedNow",
    "Relate",
    "RelatedNow",
    "Settle",
    "Settled",
    "Stops",
    "Streets",
    "Told",
]
