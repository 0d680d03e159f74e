"""Super-instances: place the rows that speak for most others, and let them label the rest."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

from hmrf_fast import inputs
from hmrf_fast.active.coordinates import frame_of, is_directional
from hmrf_fast.active.coverage import by_coverage
from hmrf_fast.active.learner import ActiveLearner
from hmrf_fast.active.placing import place, side_by_side
from hmrf_fast.active.propagation import electorate, propagate
from hmrf_fast.active.questions import Board, Strategy
from hmrf_fast.active.replay import Replay
from hmrf_fast.active.space import problem_of
from hmrf_fast.kernels.metrics import METRICS


class SuperInstances(ActiveLearner):
    """Ask about the rows that represent most others.

    Every row asked about is the representative of a super-instance, the rows nearest to it. Representatives are chosen
    one by one, each where it adds most to how well all rows are represented (greedy facility location in the low-rank
    structure of the data), so that the first twenty questions are as well spent as the first five hundred. Each is
    asked against the neighbourhoods found so far, nearest centroid first, about 1.4 questions per row with three
    clusters. The number of clusters need not be known: then a row unlike all neighbourhoods founds one.

    ``labels_`` are better than any k-means where a class is not one ball: digits, topics of very different size. For
    balanced topics give ``constraints_`` and ``sample_weight_`` to a `HMRFKMeans`: with 100 questions it agrees with
    the true classes of three news corpora as well as with 500 random pairs.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters if it is known; saves questions. None: as many as the answers show.
    metric : {"cosine", "i_divergence", "sqeuclidean", "pearson"}, default="cosine"
        The distance, as for `HMRFKMeans`.
    budget : int or None, default=100
        Largest number of questions; None: until every row is placed.
    batch_size : int, default=1
        Rows that are asked about side by side. More wait less for answers and need a few more questions.
    on_contradiction : {"raise", "warn"}, default="raise"
        What an answer does that contradicts earlier ones: it raises `ContradictionError`, or is left out with a
        warning.
    n_threads : int, default=None
        Threads to use; None or -1: all that the process may use.
    random_state : int, RandomState, Generator or None, default=None
        Source of all random choices.

    Attributes
    ----------
    labels_ : ndarray of shape (n,), int64
        Neighbourhood of every row, in the order of ``neighborhoods_``, by the super-instances; of further rows see
        ``predict``.
    sample_weight_ : ndarray of shape (n,), float64
        2 for placed rows, 1 for others, for the fit that uses ``constraints_``. Rows that are known and represent
        others deserve more of the centroids: 0.44 against 0.38, 0.43 against 0.41 and the same 0.79 NMI on three news
        corpora with 100 questions.
    constraints_, pairs_, answers_, n_queries_, neighborhoods_, stop_reason_
        See `ActiveLearner`.

    See Also
    --------
    ExploreConsolidate : One neighbourhood per cluster from far rows, then random ones.

    Notes
    -----
    COBRAS splits super-instances found by k-means where questions show them mixed; here one order of representatives
    is nested for every budget, and no question is spent on where to split. Rows between two clusters, whose
    uncertainty NPU divides by the questions it takes, and rows far from all placed ones, which MinMax prefers, taught
    k-means on text less: they speak for few others.

    References
    ----------
    T. Van Craenendonck, S. Dumancic, E. Van Wolputte, H. Blockeel, COBRAS: Interactive Clustering with Pairwise
    Queries, IDA 2018. S. Xiong, J. Azimi, X. Z. Fern, Active Learning of Constraints for Semi-Supervised Clustering,
    IEEE TKDE 2014. P. K. Mallapragada, R. Jin, A. K. Jain, Active Query Selection for Semi-supervised Clustering,
    ICPR 2008.

    Examples
    --------
    >>> from hmrf_fast import HMRFKMeans, datasets
    >>> from hmrf_fast.active import LabelOracle, SuperInstances
    >>> X, y = datasets.load_iris(return_X_y=True)
    >>> learner = SuperInstances(metric="sqeuclidean", budget=20, random_state=0).fit(X, oracle=LabelOracle(y))
    >>> learner.n_queries_, len(learner.neighborhoods_), learner.labels_.shape
    (20, 3, (150,))
    """

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: str = "cosine",
        budget: int | None = 100,
        batch_size: int = 1,
        on_contradiction: str = "raise",
        n_threads: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.budget = budget
        self.batch_size = batch_size
        self.on_contradiction = on_contradiction
        self.n_threads = n_threads
        self.random_state = random_state

    def _strategy(self, board: Board) -> Strategy:
        rng = np.random.default_rng(board.seed).spawn(1)[0]
        known = sorted(map(list, board.knowledge.sets()), key=lambda rows: (-len(rows), min(rows)))
        if "order" not in board.space.memo:
            board.space.memo["frame"] = frame_of(board.space, board.n_clusters, np.random.default_rng(board.seed))
            board.space.memo["coordinates"] = board.space.memo["frame"].coordinates(board.space.problem)
            board.space.memo["order"] = self._order(board, [row for rows in known for row in rows])
        self._frame, self._coordinates = board.space.memo["frame"], board.space.memo["coordinates"]
        askable = filter(None, ([row for row in rows if board.may_ask(row)] for rows in known))
        yield from side_by_side(place(board, min(rows), rng) for rows in askable)
        order = iter(board.space.memo["order"])
        while wave := list(islice(order, board.batch_size if board.founders else 1)):
            yield from side_by_side(place(board, row, rng) for row in wave)

    @staticmethod
    def _order(board: Board, done: list[int]) -> Replay:
        """All rows by coverage; whatever is answered, they come in this order."""
        coordinates, rows, seed = board.space.memo["coordinates"], board.rows, board.seed
        directional = is_directional(board.space.problem.metric.name)
        return Replay(
            lambda: by_coverage(coordinates, rows, done, directional, np.random.default_rng(seed).spawn(2)[1])
        )

    def predict(self, X: Any) -> np.ndarray:
        """Neighbourhoods of further rows, by the votes of the super-instances.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Rows in the features of those asked about. Of these, too, but for placed ones, which vote as well, it gives
            ``labels_``.

        Returns
        -------
        labels : ndarray of shape (n,), int64
            Positions in ``neighborhoods_``; zeros while there are none.

        Raises
        ------
        InputError
            If X is unusable.
        """
        neighborhoods = self._placed()
        matrix, metric = inputs.check_matrix(self, X, reset=False), METRICS[self._frame.metric]
        if metric.entropic:
            inputs.refuse_negative(matrix, metric.name, type(self).__name__)
        if not neighborhoods:
            return np.zeros(matrix.shape[0], np.int64)
        coordinates = self._frame.coordinates(problem_of(matrix, metric))
        return electorate(self._coordinates, neighborhoods).labels(coordinates)

    @property
    def labels_(self) -> np.ndarray:
        """(n,) int64 neighbourhood of every row, in the order of ``neighborhoods_``, by the super-instances."""
        return propagate(self._coordinates, self._placed())

    def _placed(self) -> list[list[int]]:
        board = self._begun().board
        return [board.knowledge.members(row) for row in board.founders]
