"""Fit and predict break ties alike."""

from __future__ import annotations

import warnings

import numpy as np
import oracle
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import random_states

from hmrf_fast import HMRFKMeans


@pytest.mark.filterwarnings("ignore:.* say nothing:hmrf_fast.errors.EmptyRowsWarning")
@given(st.data(), random_states())
def test_rows_are_predicted_as_they_were_fitted(data, rng):
    """Rows on few directions, most of weight 0: centroids are equal but for rounding, and some clusters have no
    mass."""
    n_few, d, K = data.draw(st.integers(3, 6)), data.draw(st.integers(2, 4)), data.draw(st.integers(2, 4))
    few = rng.integers(0, 4, (n_few, d)).astype(float)
    X = few[rng.integers(0, n_few, 10)] * rng.choice([0.1, 1.0, 3.0, 7.0], (10, 1))
    weight = rng.choice([0.0, 0.0, 0.0, 1.0], 10)
    weight[0] = 1.0
    for metric in oracle.METRICS:
        model = HMRFKMeans(
            K, metric=metric, learn_weights=data.draw(st.booleans()), init="k-means++", n_init=2, random_state=0,
            max_iter=data.draw(st.sampled_from([3, 100])),
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, sample_weight=weight)
        # A cluster whose centroid is another's was given one of the rows that are as near to both.
        if model.history_steps_[-1] != "refill":
            np.testing.assert_array_equal(model.predict(X), model.labels_)
