"""What a file of a model may say, its checksums right: the state behind it is looked at before anything follows it."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

import hmrf_fast
from hmrf_fast import PCKMeans
from hmrf_fast.archive import write_archive
from hmrf_fast.errors import ModelFileError

X = np.random.default_rng(5).random((60, 8))
PAIRS = {"must_link": [(0, 1), (4, 9)], "cannot_link": [(0, 20), (3, 7)]}
MODEL = PCKMeans(3, random_state=0).fit(X, **PAIRS, partial_labels=[0, 0, 1] + [-1] * 57)


def opened(path):
    """What is in a file."""
    with np.load(path) as file:
        header = json.loads(file["header"].tobytes())
        return header["content"], {name: file[name] for name in header["arrays"]}


def refused(path, told):
    with pytest.raises(ModelFileError, match=told) as caught:
        hmrf_fast.load(path)
    assert caught.value.reason == "damaged"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("must_link", np.array([[1, 0], [4, 9]]), "must_link holds what is no pair or no weight"),
        ("must_link", np.array([[-1, 0], [4, 9]]), "must_link holds what is no pair or no weight"),
        ("must_link", np.array([[0, 1, 2], [3, 4, 5]]), "must_link is no list of pairs"),
        ("must_link", np.array([[0, 1], [4, 9]], np.int32), "must_link is no list of pairs"),
        ("cannot_link_weight", np.array([1.0, -1.0]), "cannot_link holds what is no pair or no weight"),
        ("cannot_link_weight", np.array([1.0, np.nan]), "cannot_link holds what is no pair or no weight"),
        ("cannot_link_weight", np.array([1.0]), "cannot_link is no list of pairs"),
        ("labels.codes", np.array([0, 1, 9]), "labels names groups that do not exist"),
        ("labels.codes", np.array([0, 1, -2]), "labels names groups that do not exist"),
    ],
)
def test_constraints_that_nobody_could_have_given(name, value, told, tmp_path):
    """Kernels follow pairs and groups without looking."""
    MODEL.save(tmp_path / "m")
    content, arrays = opened(tmp_path / "m")
    [place] = [one for one in arrays if one.endswith(f"constraints_.{name}")]
    arrays[place] = value
    write_archive(tmp_path / "m", "hmrf_fast model", 1, content, arrays)
    refused(tmp_path / "m", told)


def test_values_of_every_kind(tmp_path):
    model = copy.copy(MODEL)
    kinds = {
        "scalar_": np.float64(0.5), "infinite_": -np.inf, "names_": np.array(["a", "b"], dtype=object), 
        "kind_": np.float32,
    }  # fmt: skip
    model.__dict__.update(kinds, same_=model.labels_)
    model.save(tmp_path / "m")
    loaded = hmrf_fast.load(tmp_path / "m")
    assert type(loaded.scalar_) is float and (loaded.scalar_, loaded.infinite_) == (0.5, -np.inf)
    assert loaded.names_.dtype == object and loaded.names_.tolist() == ["a", "b"] and loaded.kind_ is np.float32
    assert loaded.same_ is loaded.labels_  # stored once
    for other, told in (({1}, "other_ is a set"), (np.array([{}]), "other_ holds Python objects")):
        model.other_ = other
        with pytest.raises(TypeError, match=told):
            model.save(tmp_path / "n")
        assert not (tmp_path / "n").exists()


@pytest.mark.parametrize("value", [{"float": "1e5"}, {"dtype": "int64"}, {"code": "1"}, {"tuple": 3}, {}])
def test_kinds_of_values_that_there_are_not(value, tmp_path):
    MODEL.save(tmp_path / "m")
    content, arrays = opened(tmp_path / "m")
    content["attributes"]["smoothing_"] = value
    write_archive(tmp_path / "m", "hmrf_fast model", 1, content, arrays)
    refused(tmp_path / "m", "is damaged or was changed")
