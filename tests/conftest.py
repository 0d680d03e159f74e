"""Shared settings of the suite: the same examples every time, and no deadlines, since the first call of a kernel
compiles it. ``HYPOTHESIS_PROFILE=nightly`` draws many more, new ones each time."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("suite", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("nightly", deadline=None, max_examples=4000, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))
