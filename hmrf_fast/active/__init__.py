"""Active learning: which pairs of rows to ask about, who answers them, and sessions that survive interruptions.

Attributes
----------
SuperInstances, ExploreConsolidate : class
    The learners: which pair next.
LabelOracle, TerminalOracle, FileOracle : class
    Who answers: known labels, a person at a terminal, files.
top_terms : function
    Rows as words, to show to people.
ActiveLearner : class
    Base for further learners.
"""

from __future__ import annotations

from hmrf_fast.active.exchange import FileOracle
from hmrf_fast.active.explore import ExploreConsolidate
from hmrf_fast.active.learner import ActiveLearner
from hmrf_fast.active.oracles import LabelOracle
from hmrf_fast.active.super_instances import SuperInstances
from hmrf_fast.active.terminal import TerminalOracle, top_terms

__all__ = [
    "ActiveLearner",
    "ExploreConsolidate",
    "FileOracle",
    "LabelOracle",
    "SuperInstances",
    "TerminalOracle",
    "top_terms",
]


def __dir__() -> list[str]:
    return list(__all__)
