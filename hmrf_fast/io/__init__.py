"""Texts, matrices, constraints and results <-> files: what the command line does, as short calls.

Attributes
----------
read, write : function
    Rows to cluster, in any of the formats, as a `DataSet`; in memory or on disk.
read_texts, vectorize : function
    Texts with ids, and the matrix of their words.
stream_texts : function
    Texts one by one.
read_constraints, write_constraints : function
    Pairs, labels or groups, by row numbers or ids.
read_weights, write_weights : function
    How much rows count.
load_results : function
    The folder of a fit, as `Results`.
DataSet, Results, Texts, TextVectorizer : class
    What these functions return.
"""

from __future__ import annotations

from hmrf_fast.io.constraints import read_constraints, write_constraints
from hmrf_fast.io.dataset import DataSet
from hmrf_fast.io.reading import dataset_of_texts, read
from hmrf_fast.io.results import Results, load_results, write_labels
from hmrf_fast.io.texts import Texts, read_texts, stream_texts
from hmrf_fast.io.vectorizing import TextVectorizer, vectorize
from hmrf_fast.io.weights import read_weights, write_weights
from hmrf_fast.io.writing import write

__all__ = [
    "DataSet",
    "Results",
    "TextVectorizer",
    "Texts",
    "dataset_of_texts",
    "load_results",
    "read",
    "read_constraints",
    "read_texts",
    "read_weights",
    "stream_texts",
    "vectorize",
    "write",
    "write_constraints",
    "write_labels",
    "write_weights",
]
