"""Measure the memory that Python objects take during a call."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def measure_peak(function: Callable[[], T]) -> tuple[T, int]:
    """Return what the function returns, and the most bytes that its objects took."""
    tracemalloc.start()
    try:
        result = function()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return result, peak
