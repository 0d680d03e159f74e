"""Shared settings of the suite: the same examples every time, and no deadlines, since the first call of a kernel
compiles it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("suite", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("suite")
