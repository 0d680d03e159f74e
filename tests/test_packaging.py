"""The project as others get it: wheel, sdist and editable installs, and the commands that the README promises."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = PROJECT["tool"]["setuptools"]["packages"]
DATA = sorted(path.name for path in (ROOT / "hmrf_fast" / "data").iterdir() if path.suffix in (".npz", ".gz", ".md"))

CHECK = """
import importlib, sys
import hmrf_fast
from hmrf_fast import datasets
for name in sys.argv[1].split():
    print(importlib.import_module(name).__file__)
for name in datasets.available():
    datasets.load(name)
"""


def run(*command: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess:
    # Settings of the surrounding environment must not reach the one under test.
    clean = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    }
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=300, cwd=cwd, env=clean
    )
    assert done.returncode == code, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """Return a copy of the checkout, since building writes into the tree."""
    copy = tmp_path_factory.mktemp("source") / "checkout"
    copy.mkdir()
    for name in ("hmrf_fast", "kernels"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "MANIFEST.in"):
        shutil.copy(ROOT / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def wheel(source) -> Path:
    target = source.parent / "wheel"
    run(
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--no-index",
        "-w",
        target,
        source,
        cwd=source,
    )
    (path,) = target.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def sdist(source) -> Path:
    target = source.parent / "sdist"
    build = f"from setuptools import build_meta; build_meta.build_sdist({str(target)!r})"
    target.mkdir()
    run(sys.executable, "-c", build, cwd=source)
    (path,) = target.glob("*.tar.gz")
    return path


@pytest.fixture
def environment(tmp_path) -> Path:
    """Return the Python of an empty environment that sees the dependencies, but not the hmrf_fast beside them."""
    place = tmp_path / "environment"
    venv.create(place, symlinks=os.name != "nt")
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).stdout.strip()
    # The installed hmrf_fast must not shine through, so the dependencies are linked one by one.
    dependencies = tmp_path / "dependencies"
    dependencies.mkdir()
    for folder in {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}:
        for entry in folder.iterdir():
            if "hmrf_fast" not in entry.name and entry.suffix != ".pth":
                dependencies.joinpath(entry.name).symlink_to(entry)
    Path(site, "dependencies.pth").write_text(f"{dependencies}\n")
    return python


def install(python: Path, *what: object) -> None:
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps")
    run(*pip, "--no-build-isolation", "--ignore-installed", *what, cwd=python.parent)


def check_installed(python: Path, where: Path) -> None:
    files = run(python, "-W", "error", "-c", CHECK, " ".join(PACKAGES), cwd=python.parent).stdout.split()
    assert len(files) == len(PACKAGES)
    assert all(Path(file).resolve().is_relative_to(where.resolve()) for file in files), files
    version = re.search(r'__version__ = "(.+)"', (ROOT / "hmrf_fast" / "version.py").read_text())[1]
    assert run(python.parent / "hmrf-fast", "--version", cwd=python.parent).stdout == f"hmrf_fast {version}\n"


def test_wheel(environment, wheel):
    install(environment, wheel)
    check_installed(environment, environment.parents[1])


def test_sdist(environment, sdist):
    install(environment, sdist)
    check_installed(environment, environment.parents[1])


def test_editable(environment, source):
    install(environment, "--editable", source)
    check_installed(environment, source)


def test_wheel_holds_every_file(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {f"hmrf_fast/data/{name}" for name in DATA} | {"hmrf_fast/py.typed"} <= names
    pages = {
        path.relative_to(ROOT).as_posix()
        for kind in ("css", "html", "js")
        for path in ROOT.glob(f"hmrf_fast/**/*.{kind}")
    }
    assert len(pages) >= 4 and pages <= names
    code = {path.relative_to(ROOT).as_posix() for path in (ROOT / "hmrf_fast").rglob("*.py")}
    code |= {f"hmrf_fast/{path.relative_to(ROOT).as_posix()}" for path in (ROOT / "kernels").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == code
    assert len(DATA) == 12


def test_every_package_is_listed():
    folders = {
        path.parent.relative_to(ROOT) for top in ("hmrf_fast", "kernels") for path in (ROOT / top).rglob("__init__.py")
    }
    names = {
        ".".join(("hmrf_fast", *folder.parts) if folder.parts[0] == "kernels" else folder.parts) for folder in folders
    }
    assert sorted(PACKAGES) == sorted(names)


def test_kernels_refuse_another_name(tmp_path):
    done = run(
        sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); import kernels", cwd=tmp_path, code=1
    )
    assert "this folder is the package hmrf_fast.kernels and must not be imported as 'kernels'" in done.stderr


@pytest.mark.parametrize("name", ["demo", "test"])
def test_readme_commands_are_what_ci_runs(name):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(rf"<!-- {name} -->\n```sh\n(.*)\n```\n", readme)
    assert command.startswith('python3 -m venv .venv && .venv/bin/pip install ".[')
    assert f"readme_command {name}" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_contributing_has_an_environment_of_its_own():
    # Numba's files of a plain installation outlive it, as an empty package that hides an editable one.
    guide = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert 'python3 -m venv .venv-dev\n.venv-dev/bin/pip install -e ".[dev]"\n' in guide
    assert ".venv/" not in guide and ".venv*/" in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
