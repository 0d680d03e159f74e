"""Coverage-guided fuzzing of every reader: ``python tests/fuzzing --minutes 10 [reader ...]``; needs atheris.

Each reader runs in a process of its own, which ends at the first input that makes it crash, hang for 20 seconds, take
more than 1.5 GB, run code, or raise an error that is not typed. That input is left in ``--keep`` with the trace on the
terminal; ``python tests/fuzzing --once FILE reader`` runs it again.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType

MEMORY_MB = 1500
# Modules whose branches guide the search, besides all of hmrf_fast.io. (Not at import, and not all: what numba compiles
# must stay as it is.)
GUIDES = (
    "hmrf_fast.archive", "hmrf_fast.persistence", "hmrf_fast.model_state", "hmrf_fast.checkpoint_file",
    "hmrf_fast.constraints", "hmrf_fast.pairs", "hmrf_fast.groups", "hmrf_fast.rows.convert", "hmrf_fast.rows.store",
    "hmrf_fast.rows.disk", "hmrf_fast.active.session", "zipfile", "ast", "numpy.lib._format_impl", "json.decoder",
    "json.scanner", "sklearn.datasets._svmlight_format_io",
)  # fmt: skip


def main() -> int:
    """Run all readers, or be the process of one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--keep", type=Path, default=Path("fuzzed"))
    parser.add_argument("--once", type=Path)
    parser.add_argument("--child", action="store_true")
    told = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    if told.child:
        return _fuzz(told.readers[0], told)
    from fuzzing.readers import READERS, run

    if told.once:
        with tempfile.TemporaryDirectory() as folder:
            run(told.readers[0], told.once.read_bytes(), Path(folder))
        return 0
    failed = []
    for name in told.readers or READERS:
        command = [sys.executable, "-P", __file__, name, "--child", "--minutes", str(told.minutes)]
        if subprocess.run([*command, "--keep", str(told.keep)]).returncode:
            failed.append(name)
    sys.stdout.write(f"failed: {', '.join(failed) or 'none'}\n")
    return bool(failed)


def _fuzz(name: str, told: argparse.Namespace) -> int:
    import atheris
    from fuzzing.readers import examples, run

    import hmrf_fast.io

    for module in (*GUIDES, *(f"hmrf_fast.io.{one.name}" for one in iter_modules(hmrf_fast.io.__path__))):
        _instrument(atheris, import_module(module))
    resource.setrlimit(resource.RLIMIT_DATA, (2 * MEMORY_MB << 20,) * 2)
    corpus, kept = told.keep / f"{name}.corpus", told.keep / f"{name}."
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(examples(name, 50, 0)):
        (corpus / f"seed{number}").write_bytes(content)
    with tempfile.TemporaryDirectory() as folder:
        atheris.Setup(
            [
                sys.argv[0], str(corpus), f"-artifact_prefix={kept}", f"-max_total_time={int(told.minutes * 60)}",
                f"-rss_limit_mb={MEMORY_MB}", "-timeout=20", "-max_len=65536", "-verbosity=0", "-print_final_stats=1",
            ],
            lambda content: run(name, content, Path(folder)),
        )  # fmt: skip
        atheris.Fuzz()
    return 0


def _instrument(atheris, module) -> None:
    """Instrument the functions and methods of a module where they are."""
    owners = [module, *(kind for kind in vars(module).values() if isinstance(kind, type))]
    for owner in owners:
        for function in list(vars(owner).values()):
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                atheris.instrument_func(function)


if __name__ == "__main__":
    sys.exit(main())
