"""Active learning in the browser: a page, for one person on this machine, that shows two rows and takes one key.

Attributes
----------
Desk : class
    The session behind the page: the question, the answers, and a model that follows them in the background.
LabelServer : class
    The page on a loopback address with a secret in it; needs Starlette and uvicorn (extra ``label``).

Examples
--------
::

    from hmrf_fast import io, labeling

    desk = labeling.Desk(io.read("m"), 20, session="m.answers.jsonl", out="m.pairs.csv")
    labeling.LabelServer(desk).run()  # until Ctrl-C; in a notebook: with labeling.LabelServer(desk) as page: page.url
"""

from __future__ import annotations

from hmrf_fast.labeling.desk import Desk
from hmrf_fast.labeling.server import LabelServer

__all__ = ["Desk", "LabelServer"]
