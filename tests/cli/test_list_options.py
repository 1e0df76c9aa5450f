"""`bnnbench list WORD`: groups, options and metrics."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command import Command

from bnnbench.cli.commands.list import LISTABLE, PLURALS, cost_of, describe_option, parse_words
from bnnbench.config.configs import GROUPS, Option, find_options
from bnnbench.results.metric_table import BY_KEY
from bnnbench.results.reference.relative_costs import cost_cell, describe_cost, relative_costs
from bnnbench.types import UserError


def test_every_metric_is_listed_with_its_description(command: Command) -> None:
    code, out, _ = command("list", "metric")
    head, *lines, last = out.splitlines()
    assert code == 0 and head == "metric" and "docs/reference/metrics.md" in last
    assert [line.split()[0] for line in lines] == list(BY_KEY)
    assert all(re.search(r"\[.+, (higher|lower) is better\]$", line) for line in lines)


def test_a_group_is_known_by_its_plural_too(command: Command) -> None:
    assert {"methods", "datasets", "losses", "searches"} <= PLURALS.keys()
    assert command("list", "losses") == command("list", "loss")
    assert not PLURALS.keys() & {*LISTABLE}


def test_an_option_is_shown_with_its_settings(command: Command) -> None:
    code, out, _ = command("list", "vadam")
    assert code == 0 and out.startswith("method=vadam: Vadam")
    assert "bnnbench.methods.vadam.Vadam\n  Diagonal Gaussian posterior" in out
    assert "\n  noise_precision: " in out and "\n  label: vadam\n" in out
    summary = find_options("method")["vadam"].summary
    assert out.count(f"# {summary}") == 0, "the comment with the summary is not repeated"
    assert command("list", "method", "vadam") == command("list", "methods", "vadam") == (0, out, "")


def test_a_word_is_an_option_of_the_group_before_it_or_of_any_group() -> None:
    assert parse_words(["laplace"]) == [("method", "laplace"), ("prior", "laplace")]
    assert parse_words(["prior", "laplace", "gaussian"]) == [
        ("prior", "laplace"),
        ("prior", "gaussian"),
    ]
    assert parse_words(["prior", "vadam"]) == [("prior", ""), ("method", "vadam")]
    assert parse_words(["rmse", "losses"]) == [("metric", "rmse"), ("loss", "")]


@pytest.mark.parametrize("group", GROUPS)
def test_every_option_can_be_shown(group: str) -> None:
    for name, option in find_options(group).items():
        shown = describe_option(group, name, option)
        assert shown.startswith(f"{group}={name}: {option.summary}\n\n")
        if f"\n  _target_: bnnbench.{group}s." in shown:
            assert f"\n\nbnnbench.{group}s." in shown


def test_a_variant_is_shown_with_the_class_of_its_base() -> None:
    for name in ("mc_dropout_x1", "psgld"):
        assert "\n\nbnnbench.methods." in describe_option(
            "method", name, find_options("method")[name]
        )


def folder_of_methods(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of methods of a project that is the current folder."""
    monkeypatch.chdir(project)
    (project / "bnnbench.toml").touch()
    folder = project / "configs" / "method"
    folder.mkdir(parents=True)
    return folder


def test_files_of_ones_own_are_shown_even_if_they_are_invalid(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of_methods(tmp_path, monkeypatch)
    for name, text in {
        "absent": "_target_: nowhere_at_all.Mine\n", "broken": "a: [\n",
        "circle": "defaults: [circle]\n", "child": "# Mine\ndefaults: [vadam]\n",
    }.items():  # fmt: skip
        (folder / f"{name}.yaml").write_text(text)
        code, out, _ = command("list", name)
        assert code == 0 and out.startswith(f"method={name}: ") and "[yours]" in out
        assert text.splitlines()[-1] in out
    assert "bnnbench.methods.vadam.Vadam" in out


def test_methods_are_listed_with_their_stored_cost(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty cell for each method without stored runs, and for one's own of the same name."""
    folder = folder_of_methods(tmp_path, monkeypatch)
    for name in ("mine", "my_vadam"):
        (folder / f"{name}.yaml").write_text("defaults: [vadam]\n")
    costs = relative_costs()
    _, out, _ = command("list", "method")
    head, *lines = out.splitlines()
    rows = [line for line in lines if line.startswith("  ")]
    start = head.index("CPU / map")
    cells = {line.split()[0]: line[start : start + 9].strip() for line in rows}
    assert cells.keys() == find_options("method").keys() >= {"mine", "my_vadam", *costs}
    assert cells == {name: cost_cell(costs.get(name)) for name in cells}
    assert "(n): " in lines[-1] and lines[-1].count("yacht") == 1
    assert cost_of("vadam", Option(tmp_path / "vadam.yaml", "yours")) is None
    for name in ("mine", "hmc"):
        assert describe_cost(None) in command("list", name)[1]
    assert describe_cost(costs["vadam"]) in command("list", "vadam")[1]


def test_an_unknown_word_is_refused(command: Command) -> None:
    for word, close in {"vadamm": "vadam", "metrix": "metric"}.items():
        command.assert_refused("list", word, setting="list")
        assert f"did you mean {close}?" in str(command.error)
    with pytest.raises(UserError) as error:
        parse_words(["method", "atlantis"])
    assert all(group in str(error.value) for group in LISTABLE)
