"""Shared settings of the suite: the same examples every time, and no deadlines, since the first call of a kernel
compiles it. ``HYPOTHESIS_PROFILE=nightly`` draws many more, new ones each time; ``mutants`` is content with any failure
and does not look for its simplest form, which takes most of the time of a test that fails."""

from __future__ import annotations

import os

from hypothesis import Phase, settings

settings.register_profile("suite", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("nightly", deadline=None, max_examples=4000, print_blob=True)
settings.register_profile(
    "mutants",
    settings.get_profile("suite"),
    phases=(Phase.explicit, Phase.generate),
    report_multiple_bugs=False,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))
