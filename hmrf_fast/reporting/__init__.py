"""What a fitted model found, as numbers (`facts`) and as a page to read (`page`).

``model.report(X)`` is the way in. ``facts.gather`` collects every number once; the page, its drawings and
:mod:`hmrf_fast.plotting` only show them. What became of the constraints alone, without the rows, is
``model.constraint_report_`` (:mod:`hmrf_fast.constraint_report`).
"""
