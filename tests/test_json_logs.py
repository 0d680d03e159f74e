"""Every line of a batch job's log is JSON, whatever is logged."""

from __future__ import annotations

import io
import json
import logging

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hmrf_fast import SphericalKMeans
from hmrf_fast.json_logs import JSONLines


@pytest.fixture
def stream():
    """What the library's logger says, as text."""
    text, logger = io.StringIO(), logging.getLogger("hmrf_fast")
    handler = logging.StreamHandler(text)
    handler.setFormatter(JSONLines())
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield text
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_a_fit(stream):
    X = np.random.default_rng(0).random((30, 5))
    model = SphericalKMeans(3, n_init=2, random_state=0, verbose=1).fit(X)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert all({"time", "level", "logger", "message"} <= set(line) for line in lines)
    steps = [line for line in lines if "iteration" in line]
    assert {line["start"] for line in steps} == {0, 1}
    assert min(line["objective"] for line in steps) == pytest.approx(model.objective_, rel=1e-3)


def test_an_error_in_one_line(stream):
    try:
        raise ValueError("two\nlines")
    except ValueError:
        logging.getLogger("hmrf_fast").exception("failed: %s", "é\n")
    (line,) = stream.getvalue().splitlines()
    told = json.loads(line)
    assert told["message"] == "failed: é\n" and "two\nlines" in told["exception"]


VALUES = st.one_of(st.floats(), st.integers(), st.text(), st.none(), st.binary())


def line_of(values):
    """The line of a message with named values."""
    return JSONLines().format(logging.LogRecord("x", logging.INFO, "file", 1, "m", (values,), None))


@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1))
def test_any_values(values):
    line = line_of(values)
    assert "\n" not in line
    told = json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert set(values) <= set(told)
    own = {"time", "level", "logger", "message"}
    assert all(told[name] == value for name, value in values.items() if type(value) in (str, int) and name not in own)


def test_values_of_numpy():
    told = json.loads(line_of({"J": np.float64("inf"), "n": np.int32(3), "who": np.array([1])}))
    assert (told["J"], told["n"], told["who"]) == ("inf", 3, "[1]")
