"""The house rules, checked by the tools that know them."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCES = ["host", "sdk", "strategies", "plugins", "tests", "examples", "scripts"]
HEAVY = {
    "alembic",
    "fastapi",
    "httpcore",
    "prometheus_client",
    "psycopg",
    "pydantic",
    "sqlalchemy",
    "starlette",
    "uvicorn",
    "httpx",
    "tiktoken",
    "stevedore",
    "rich",
    "bpe_openai",
    "jsonschema",
    "importlib_metadata",
}


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)


def modules_after(statement: str) -> set[str]:
    code = "\n".join(
        [
            "import json, sys",
            "before = set(sys.modules)",
            statement,
            "print(json.dumps(sorted(set(sys.modules) - before)))",
        ]
    )
    done = run("-c", code)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_ruff_finds_nothing() -> None:
    done = run("-m", "ruff", "check", *SOURCES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_format_is_ruffs() -> None:
    done = run("-m", "ruff", "format", "--check", *SOURCES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("target", [[], ["tests", "examples", "scripts"]], ids=["packages", "tests and examples"])
def test_mypy_strict_finds_nothing(target: list[str]) -> None:
    done = run("-m", "mypy", *target)
    assert done.returncode == 0, done.stdout + done.stderr


def test_imports_run_one_way() -> None:
    done = run("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


def test_no_source_imports_a_package_through_its_folder() -> None:
    pattern = re.compile(r"^\s*(?:from|import)\s+(?:host|sdk|strategies|plugins)\.", re.MULTILINE)
    guilty = [path for root in SOURCES for path in (ROOT / root).rglob("*.py") if pattern.search(path.read_text())]
    assert guilty == []


@pytest.mark.parametrize("package", ["trimtab", "trimtab_sdk"])
def test_all_lists_exactly_the_public_names_sorted(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__ == sorted(module.__all__, key=_isort_key)
    assert [name for name in module.__all__ if getattr(module, name, None) is None] == []
    public = {
        alias.asname or alias.name
        for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("trimtab.", "trimtab_sdk."))
        for alias in node.names
    }
    assert public == set(module.__all__)


def _isort_key(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_importing_trimtab_loads_only_the_sdk_and_pluggy() -> None:
    loaded = modules_after("import trimtab, trimtab_sdk")
    assert not loaded & HEAVY
    assert not loaded & {"trimtab_plugins", "trimtab_strategies"}


def test_help_loads_nothing_heavy() -> None:
    loaded = modules_after(
        "import contextlib, io, trimtab.cli\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):\n"
        "    sys.argv = ['trimtab', '--help']; trimtab.cli.main()\n"
        "import json"
    )
    assert not loaded & HEAVY


def test_every_public_name_of_the_sdk_has_a_docstring_where_it_can_have_one() -> None:
    sdk = importlib.import_module("trimtab_sdk")
    bare = [
        name
        for name in sdk.__all__
        if (isinstance(getattr(sdk, name), type) or callable(getattr(sdk, name)))
        and getattr(getattr(sdk, name), "__module__", "").startswith("trimtab_sdk")
        and not (getattr(sdk, name).__doc__ or "").strip()
    ]
    assert bare == []


def test_the_gate_runs_the_readmes_test_command() -> None:
    gate = (ROOT / ".ci/run").read_text().splitlines()[-1].replace(" --quiet --disable-pip-version-check", "")
    assert gate in (ROOT / "README.md").read_text()


def test_the_project_speaks_of_itself_alone() -> None:
    words = re.compile(r"/work/|/farm/|\.library|pypi\.org|npmjs|issue \d|issue #\d", re.IGNORECASE)
    texts = [path for path in ROOT.rglob("*") if path.suffix in {".py", ".md", ".toml", ".yml"} and path.is_file()]
    ours = [path for path in texts if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)]
    guilty = [
        str(path.relative_to(ROOT)) for path in ours if path != Path(__file__) and words.search(path.read_text())
    ]
    assert guilty == []
