"""Settings of the documentation's site: ``sphinx-build -W docs <target>``."""

from __future__ import annotations

from typing import Any

import hmrf_fast

project = "hmrf_fast"
author = copyright = "The hmrf_fast developers"
version = release = hmrf_fast.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_heading_anchors = 3

# What scikit-learn gives to every estimator is described there.
autodoc_default_options = {
    "members": True,
    "inherited-members": "BaseEstimator,ClusterMixin,TransformerMixin,ClassNamePrefixFeaturesOutMixin",
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request, set_transform_request, "
    "set_output, add_note, with_traceback",
}
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # numpydoc's sections say more than the annotations
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_title = f"hmrf_fast {version}"
html_copy_source = False


def leave_out(app: Any, what: str, name: str, found: Any, skip: bool, options: Any) -> bool | None:
    """What other libraries' classes bring along is described there, fields of tuples in the class's docstring."""
    module = getattr(found, "__module__", None)
    foreign = isinstance(module, str) and not module.startswith("hmrf_fast")
    return True if what == "class" and (foreign or type(found).__name__ == "_tuplegetter") else None


def shorten(app: Any, what: str, name: str, found: Any, options: Any, lines: list[str]) -> None:
    """A module's list of its names is for readers of the code: here they follow anyway."""
    if what == "module" and "Attributes" in lines:
        del lines[lines.index("Attributes") :]


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.connect("autodoc-process-docstring", shorten, priority=100)
    app.connect("autodoc-skip-member", leave_out)
