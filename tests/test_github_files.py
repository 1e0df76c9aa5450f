"""Files that GitHub reads: workflows, issue forms and the citation are valid."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
FORMS = GITHUB / "ISSUE_TEMPLATE"
CONFIG = FORMS / "config.yml"


@pytest.mark.ci
@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("custom.github-workflows-require-timeout", WORKFLOWS),
        ("vendor.github-issue-forms", {*FORMS.glob("*.yml")} - {CONFIG}),
        ("vendor.github-issue-config", [CONFIG]),
        ("vendor.citation-file-format", [ROOT / "CITATION.cff"]),
    ],
    ids=["workflows", "timeouts", "forms", "form_config", "citation"],
)
def test_files_satisfy_their_schemas(schema: str, files: Collection[Path]) -> None:
    options = ["--builtin-schema", schema, "--default-filetype", "yaml"]
    command = [sys.executable, "-m", "check_jsonschema", *options, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_workflows_call_targets_of_the_makefile() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M)
    text = "".join(path.read_text() for path in WORKFLOWS)
    called = re.findall(r"run: make (\w+)|target: (\w+)", text)
    assert called and {one or other for one, other in called} <= set(targets)
