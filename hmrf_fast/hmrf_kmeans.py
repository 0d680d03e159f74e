"""HMRFKMeans: parameters and documentation; the work is in ``base.py`` and below."""

from __future__ import annotations

import numbers

from hmrf_fast.base import ConstrainedClusterer, Settings, check_parameters
from hmrf_fast.em import Options
from hmrf_fast.errors import InputError
from hmrf_fast.inputs import check_choice, check_number
from hmrf_fast.kernels.metrics import METRICS
from hmrf_fast.start import CHOICES

SMOOTHING_FLOOR = 1e-3


class HMRFKMeans(ConstrainedClusterer):
    """TODO"""

    def __init__(
        self,
        n_clusters=8,
        *,
        metric="cosine",
        learn_weights=False,
        weight_prior=None,
        learning_rate=None,
        must_link_weight=1.0,
        cannot_link_weight=1.0,
        penalty="distance",
        infer_constraints=True,
        init="auto",
        n_init=10,
        e_step="block_icm",
        smoothing=1.0,
        max_iter=100,
        tol=1e-4,
        dtype=None,
        copy_x=True,
        n_threads=None,
        random_state=None,
        verbose=0,
        callback=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.learn_weights = learn_weights
        self.weight_prior = weight_prior
        self.learning_rate = learning_rate
        self.must_link_weight = must_link_weight
        self.cannot_link_weight = cannot_link_weight
        self.penalty = penalty
        self.infer_constraints = infer_constraints
        self.init = init
        self.n_init = n_init
        self.e_step = e_step
        self.smoothing = smoothing
        self.max_iter = max_iter
        self.tol = tol
        self.dtype = dtype
        self.copy_x = copy_x
        self.n_threads = n_threads
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback

    def fit(
        self, X, y=None, *, must_link=None, cannot_link=None, partial_labels=None, constraints=None, sample_weight=None
    ):
        """Cluster the rows of X under constraints."""
        return self._fit(X, must_link, cannot_link, partial_labels, constraints, sample_weight)

    def _settings(self) -> Settings:
        check_parameters(self)
        check_choice("metric", self.metric, tuple(METRICS))
        check_choice("penalty", self.penalty, ("distance", "potts"))
        check_choice("e_step", self.e_step, ("block_icm", "icm"))
        if isinstance(self.init, str):
            check_choice("init", self.init, CHOICES)
        for name in ("must_link_weight", "cannot_link_weight", "smoothing"):
            check_number(name, getattr(self, name), numbers.Real, 0)
        for name in ("weight_prior", "learning_rate"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), numbers.Real, 0, open_low=True)
        if self.learn_weights and self.penalty == "potts":
            raise InputError("learn_weights=True needs penalty='distance': constant penalties do not depend on the weights")
        return Settings(
            metric=self.metric,
            penalty=self.penalty,
            infer=bool(self.infer_constraints),
            must_link_weight=float(self.must_link_weight),
            cannot_link_weight=float(self.cannot_link_weight),
            init=self.init,
            n_init=int(self.n_init),
            options=Options(
                max_iter=int(self.max_iter),
                tol=float(self.tol),
                e_step=self.e_step,
                learn_weights=bool(self.learn_weights),
                smoothing=(float(self.smoothing), min(float(self.smoothing), SMOOTHING_FLOOR)),
            ),
            learning_rate=self.learning_rate,
            weight_prior=self.weight_prior,
        )
