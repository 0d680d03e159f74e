"""The bundled corpora, read through :mod:`hmrf_fast.datasets`; ``README.md`` here states origin and licence."""
