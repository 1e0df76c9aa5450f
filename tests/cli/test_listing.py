"""`bnnbench list WORD`: metrics, single options; other lists are tested with what is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.command import one_sentence

from bnnbench.cli.configs import ALL_GROUPS, offered
from bnnbench.cli.listing import LISTED, PLURALS, asked
from bnnbench.cli.one_option import described
from bnnbench.results.metrics import BY_KEY
from bnnbench.types import UserError

Command = Callable[..., tuple[int, str, str]]


def test_every_metric_is_listed_with_what_it_is(command: Command) -> None:
    code, out, _ = command("list", "metric")
    head, *lines, last = out.splitlines()
    assert code == 0 and head == "metric" and "docs/glossary.md" in last
    assert [line.split()[0] for line in lines] == list(BY_KEY)
    assert "log of the weight samples' average density [nats, higher is better]" in out
    assert command("list")[1].count("glossary") == 0, "only where it is asked for"


def test_a_group_is_known_by_its_plural_too(command: Command) -> None:
    assert {"methods", "datasets", "losses", "searches"} <= PLURALS.keys()
    assert command("list", "losses") == command("list", "loss")
    assert not PLURALS.keys() & {*LISTED}


def test_an_option_is_shown_with_its_settings(command: Command) -> None:
    code, out, _ = command("list", "vadam")
    assert code == 0 and out.startswith("method=vadam: Vadam: natural-gradient")
    assert "bnnbench.methods.vadam.Vadam\n  Diagonal Gaussian posterior" in out
    assert "  # Hyper-parameters, standardised units: null is searched" in out
    assert out.count("natural-gradient") == 2, "its summary's comment is not repeated"
    assert command("list", "method", "vadam") == command("list", "methods", "vadam") == (0, out, "")


def test_a_word_is_looked_for_in_the_group_before_it_or_in_all() -> None:
    assert asked(["laplace"]) == [("method", "laplace"), ("prior", "laplace")]
    assert asked(["prior", "laplace", "gaussian"]) == [("prior", "laplace"), ("prior", "gaussian")]
    assert asked(["prior", "vadam"]) == [("prior", ""), ("method", "vadam")]
    assert asked(["rmse", "losses"]) == [("metric", "rmse"), ("loss", "")]


@pytest.mark.parametrize("group", ALL_GROUPS)
def test_every_option_can_be_shown(group: str) -> None:
    for name, option in offered(group).items():
        shown = described(group, name, option)
        assert shown.startswith(f"{group}={name}: {option.summary}\n\n")
        if f"\n  _target_: bnnbench.{group}s." in shown:
            assert f"\n\nbnnbench.{group}s." in shown


def test_an_option_that_rests_on_others_has_their_class() -> None:
    for name in ("mc_dropout_x1", "psgld"):
        assert "\n\nbnnbench.methods." in described("method", name, offered("method")[name])


def test_files_of_ones_own_are_shown_whatever_is_wrong_with_them(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bnnbench.toml").touch()
    (tmp_path / "configs" / "method").mkdir(parents=True)
    for name, text in {
        "absent": "_target_: nowhere_at_all.Mine\n", "broken": "a: [\n",
        "circle": "defaults: [circle]\n", "child": "# Mine\ndefaults: [vadam]\n",
    }.items():  # fmt: skip
        (tmp_path / "configs" / "method" / f"{name}.yaml").write_text(text)
        code, out, _ = command("list", name)
        assert code == 0 and out.startswith(f"method={name}: ") and "[yours]" in out
        assert text.splitlines()[-1] in out
    assert "bnnbench.methods.vadam.Vadam" in out


def test_a_word_that_is_neither_is_refused(command: Command) -> None:
    one_sentence(*command("list", "vadamm"), ["'vadamm'", "did you mean vadam?"])
    one_sentence(*command("list", "metrix"), ["did you mean metric?"])
    with pytest.raises(UserError, match=r"groups are method, dataset, .*, metric"):
        asked(["method", "atlantis"])
