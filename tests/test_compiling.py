"""After a warm-up no fit compiles anything."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from numba.core import event

from hmrf_fast import Constraints, HMRFKMeans
from hmrf_fast.compiling import compile_kernels
from hmrf_fast.errors import InputError
from hmrf_fast.kernels._jit import JIT_DISABLED


class Compilations(event.Listener):
    def __init__(self):
        self.names = []

    def on_start(self, happening):
        self.names.append(happening.data["dispatcher"].py_func.__name__)

    def on_end(self, happening):
        pass


@pytest.mark.skipif(JIT_DISABLED, reason="is about what the compiler makes")
def test_a_warm_process_compiles_nothing():
    compile_kernels(["cosine"], ["float32"])
    X = sp.random(300, 80, 0.2, format="csr", random_state=0, dtype=np.float32)
    classes = np.arange(300) % 4
    kinds = {
        "nothing": {},
        "pairs": {"must_link": [(0, 4)], "cannot_link": [(0, 1), (2, 3)]},
        "labels": {"partial_labels": classes},
        "classes": {"constraints": Constraints(partial_labels=classes)},
        "groups": {"constraints": Constraints(must_link_groups=classes)},
    }
    with event.install_listener("numba:compile", listener := Compilations()):
        for known in kinds.values():
            HMRFKMeans(4, random_state=0, max_iter=300).fit(X, **known).predict(X)
        HMRFKMeans(150, random_state=0, n_init=1, max_iter=300).fit(X).predict(X)
    assert listener.names == []


def test_unknown_names_are_refused():
    with pytest.raises(InputError, match="cosine"):
        compile_kernels(["cosinus"])
    with pytest.raises(InputError, match="float16"):
        compile_kernels(["cosine"], ["float16"])
