"""The command ``hmrf-fast warmup``: fill the cache of compiled kernels."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated

import typer

from hmrf_fast.app.common import Metric, exit_codes

__all__ = ["HELP", "warmup"]

HELP = """Compile the kernels now, so that later runs need not.

Run it once per kind of machine, for instance when the image of a batch node is built. The environment variable
NUMBA_CACHE_DIR says where the machine code is kept, if not beside the package.

\b
    hmrf-fast warmup --metric cosine
"""


def warmup(
    metric: Annotated[list[Metric] | None, typer.Option(help="Distance; may be repeated. All if left out.")] = None,
) -> None:
    """Run the command."""
    with exit_codes():
        from hmrf_fast.compiling import compile_kernels
        from hmrf_fast.kernels.metrics import METRICS

        started = perf_counter()
        names = [one.value for one in metric] if metric else list(METRICS)
        typer.echo("compiling; it takes about a minute for each distance", err=True)
        compile_kernels(names)
        typer.echo(f"{', '.join(names)}: ready after {perf_counter() - started:.1f} s")
