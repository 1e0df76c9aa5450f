"""Overrides of the command line: quoting, order, and unusual paths and columns."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import QuotedString
from support.command import Command, result_folder
from support.config import TINY, compose_configs
from support.user_errors import raises_user_error

from bnnbench.config.assemble import build
from bnnbench.config.compose import single_job
from bnnbench.config.configs import config_folder
from bnnbench.config.overrides import as_override, quote_overrides
from bnnbench.data.errors import override

TEXTS = (
    *("Preis (€)", "Jörg/d.csv", "a=b.csv", "a,b", "it's", 'the "best"', "back\\slash", "\\'"),
    *("ends in \\", "[a]", "{a: b}", "1", "true", "a: b", "100 %", "$x", "", " spaced ", "x#y"),
    *("'", "$x$", "a_b^c", "[/x]", "{x}", "%s", "#", '"', "\\frac", "1.5", "nan", "~", "-x", "+x"),
    *("日本", "é" * 80, "a:b", "x;y", "<b>", "|", "&", "*", "\u202e", "a\tb", "😀", "x" * 300),
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_not_changed_by_quoting(text: str) -> None:
    (word,) = quote_overrides([f"dataset.target={text}"])
    override = OverridesParser.create().parse_override(word)
    assert override.value() == text


@pytest.mark.parametrize(
    ("word", "expected"),
    [("depth=1,2", "depth='1','2'"), ("method=vadam,bbb", "method=vadam,bbb"),
     ("seed=1,2", "seed=1,2"), ("dataset.path=null", "dataset.path=null"),
     ("dataset.target='a b'", "dataset.target='a b'"), ("method.label=5", "method.label='5'"),
     ("dataset.target=a,b", "dataset.target='a','b'"), ("+depth=1", "+depth='1'")],
)  # fmt: skip
def test_quoting_of_a_sweep(word: str, expected: str) -> None:
    assert quote_overrides([word], sweep=True) == [expected]


def test_home_is_expanded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    words = ["dataset.path=~/my.csv", "outputs_dir=~", "data_dir=~/uci", "dataset.target=~/x"]
    quoted = [word.partition("=")[2] for word in quote_overrides(words)]
    assert quoted == ["'/home/ada/my.csv'", "'/home/ada'", "'/home/ada/uci'", "'~/x'"]


def test_a_comma_in_the_name_of_an_existing_file_is_not_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a,b.csv").touch()
    assert quote_overrides(["dataset.path=a,b.csv"], sweep=True) == ["dataset.path='a,b.csv'"]
    assert quote_overrides(["dataset.path=a,c.csv"], sweep=True) == ["dataset.path='a','c.csv'"]


@pytest.mark.parametrize("name", ["a$(b)=[c];{d}:#.csv", "~ -+'x\".csv", "日本\\😀", "x" * 250])
def test_a_file_and_a_column_of_any_name_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_csv: Path, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    own_table(table_csv, tmp_path / name, name)
    (config,) = compose_configs(["dataset=csv", f"dataset.path={name}", f"dataset.target={name}"])
    assert build(config).experiment.table.target == name


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [("path", "null", None), ("target", "null", None), ("path", "${b}", "unresolved")],
)
def test_a_name_that_means_no_file_or_column(key: str, value: str, code: str | None) -> None:
    words = ["dataset=csv", "dataset.path=t.csv", "dataset.target=y", f"dataset.{key}={value}"]
    with raises_user_error(f"dataset.{key}", code):
        build(compose_configs(words)[0])


def own_table(table: Path, path: Path, column: str) -> None:
    path.parent.mkdir(exist_ok=True)
    pd.read_csv(table).rename(columns={"y": column}).to_csv(path, index=False)


@pytest.mark.slow
@pytest.mark.usefixtures("without_figures")
def test_a_run_on_an_ordinary_path_and_column(command: Command, table_csv: Path) -> None:
    small = [*TINY, "splits=1", "workers=1", "dataset=csv", "dataset.target=Preis (€)"]
    own_table(table_csv, Path("Jörg, a=b/d (1).csv"), "Preis (€)")
    words = [*small, "dataset.path=Jörg, a=b/d (1).csv", "outputs_dir=aus gabe"]
    code, out, errors = command("run", *words)
    assert code == 0, errors
    first = result_folder(out)
    assert first.root.parts[:3] == ("aus gabe", "uci", "d-1")
    code, out, errors = command("run", "-m", *words, "seed=0,1")
    assert code == 0, errors
    assert out.endswith(f"results: {first.root.parent}\n")


def test_a_syntax_error_shows_how_to_quote(command: Command) -> None:
    words = ("run", "training.dtype=my table (old)")
    command.assert_refused(*words, setting="training.dtype", code="syntax")
    assert "\"training.dtype='my table (old)'\"" in str(command.error)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dataset.drop=[Straße,a b]", "dataset.drop=['Straße','a b']"),
        ("dataset.drop=Straße", "dataset.drop=['Straße']"),
        ("dataset.columns=1,2", "dataset.columns=['1','2']"),
        ("dataset.columns=null", "dataset.columns=null"),
        ("dataset.drop=['a,b']", "dataset.drop=['a,b']"),
        ('dataset.drop=[7.10,"a,b"]', "dataset.drop=['7.10','a,b']"),
        ("dataset.columns=3.40,'c'", "dataset.columns=['3.40','c']"),
        ("dataset.missing_values=[-9.0,'?']", "dataset.missing_values=['-9.0','?']"),
        ("dataset.drop=[it's,{a}]", r"dataset.drop=['it\'s','{a}']"),
        ("dataset.drop=[[x],[y]]", "dataset.drop=['[x]','[y]']"),
        ("dataset.drop=[a", "dataset.drop=[a"),
        ("dataset.drop=[day,p [bar]]", "dataset.drop=['day','p [bar]']"),
        ("dataset.drop=p [bar]", "dataset.drop=['p [bar]']"),
        ("dataset.group=Kunde Nr.", "dataset.group='Kunde Nr.'"),
        ("dataset.time=[Jahr,Monat [1-12]]", "dataset.time=['Jahr','Monat [1-12]']"),
        ('dataset.time=["Jahr", "Monat"]', "dataset.time=['Jahr','Monat']"),
        ("dataset.time=t [s]", "dataset.time='t [s]'"),
        ("dataset.time='[s]'", "dataset.time='[s]'"),
        ("dataset.time=null", "dataset.time=null"),
    ],
)
def test_quoting_of_lists_of_columns(word: str, expected: str) -> None:
    assert quote_overrides([word]) == [expected]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dataset.drop=[7.10],['a,b',1e3]", "dataset.drop=['7.10'],['a,b','1e3']"),
        ("dataset.columns=[007, [x]] , [true]", "dataset.columns=['007','[x]'],['true']"),
        ("dataset.target=7.10,'a,b'", "dataset.target='7.10','a,b'"),
    ],
)
def test_quoting_of_a_sweep_over_columns(word: str, expected: str) -> None:
    assert quote_overrides([word], sweep=True) == [expected]


NAMES = (
    *("007", "7.10", "1e3", "0x10", "true", "null", "~", "nan", "a b", "a=b", "a:b", "[x]", "[a"),
    *("a,b", "'t'", '"t"', "it's", "'a' or 'b'", "x\\", "\\'", "{a}", "choice(a,b)", "*", "???"),
    *("${depth}", "${", "\\${x}", "'${x}'", "a${b", "${a}${", "$x"),
)


@pytest.mark.parametrize("sweep", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_a_name_from_python_or_from_advice_is_that_very_name(name: str, sweep: bool) -> None:
    expected = {
        "target": name,
        "group": name,
        "drop": [name, "7.10"],
        "columns": ["a,b", name],
        "missing_values": [name],
    }
    python = [as_override(f"dataset.{key}", value) for key, value in expected.items()]
    typed = [word for key, value in expected.items() for word in shlex.split(override(key, value))]
    for words in (python, typed):
        given = ["dataset=csv", *words]
        config = compose_configs(given)[0] if sweep else single_job(given).resolved()
        assert {key: config["dataset"][key] for key in expected} == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("dataset.name=${seed}", 3),
        ("dataset.drop=null", None),
        ("dataset.group=null", None),
        ("dataset.sheet='a b'", "a b"),
        ("dataset.test_fraction=0.20", 0.2),
        ("network.width=[7,8]", [7, 8]),
    ],
)
def test_other_values_keep_their_meaning(word: str, expected: object) -> None:
    (config,) = compose_configs(["dataset=csv", "seed=3", word])
    group, _, key = word.partition("=")[0].partition(".")
    assert config[group][key] == expected


@pytest.mark.parametrize("value", [("a,b", "c"), np.array(["a,b", "c"]), pd.Index(["a,b", "c"])])
@pytest.mark.parametrize("key", ["drop", "columns", "time"])
def test_names_may_be_in_any_sequence(key: str, value: object) -> None:
    (config,) = compose_configs(["dataset=csv", as_override(f"dataset.{key}", value)])
    assert config["dataset"][key] == ["a,b", "c"]


@pytest.mark.parametrize("value", [["a", "b"], ("a", "b"), {"a"}, {"a": 1}, pd.Index(["a"])])
def test_one_column_cannot_be_several(value: object) -> None:
    with raises_user_error("dataset.target", "several_columns"):
        as_override("dataset.target", value)


@pytest.mark.parametrize("value", [["é", "1"], [1, 2.5], [["a"], None], ("x'y", math.inf)])
def test_a_list_of_python_stays_the_same(value: Sequence[object]) -> None:
    found = OverridesParser.create().parse_override(as_override("method.alpha", value)).value()
    texts = [one.text if isinstance(one, QuotedString) else one for one in found]
    assert texts == list(value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, 0.1, 1e-300, np.float64(1.5), 3])
def test_a_number_of_python_stays_the_same(value: float) -> None:
    found = OverridesParser.create().parse_override(as_override("method.alpha", value)).value()
    assert found == value or (math.isnan(found) and math.isnan(value))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, [math.inf]) for text in (".inf", "+.inf", ".Inf", ".INF", "inf")),
        *((text, [-math.inf]) for text in ("-.inf", "-.INF", "-inf")),
        ("-.inf,0,.5,.inf", [-math.inf, 0, 0.5, math.inf]),
        ("choice(.inf, -.inf)", [math.inf, -math.inf]),
        ("[.inf,-.inf]", [[math.inf, -math.inf]]),
        ("{a:.inf,b:[1, .inf]}", [{"a": math.inf, "b": [1, math.inf]}]),
        ("'.inf'", [".inf"]),
        ("[a.inf,.info,'x .inf']", [["a.inf", ".info", "x .inf"]]),
    ],
)
def test_an_infinite_number_of_yaml_is_a_number(text: str, expected: list[object]) -> None:
    (word,) = quote_overrides([f"method.alpha={text}"], sweep=True)
    override = OverridesParser.create().parse_override(word)
    swept = override.is_sweep_override()
    values = [parsed(value) for value in override.sweep_iterator()] if swept else [override.value()]
    assert values == expected


def parsed(text: str) -> object:
    """Return the value of one job of a sweep."""
    return OverridesParser.create().parse_override(f"x={text}").value()


def test_not_a_number_is_read_where_it_is_a_number_in_yaml() -> None:
    (word,) = quote_overrides(["method.alpha=.nan"])
    assert math.isnan(OverridesParser.create().parse_override(word).value())


@pytest.mark.parametrize("file", sorted((config_folder() / "method").glob("*.yaml")))
def test_numbers_that_a_comment_offers_are_accepted(file: Path) -> None:
    for line in file.read_text("utf-8").splitlines():
        setting, _, comment = line.partition("#")
        for number in re.findall(r"[-+]?\.(?:inf|nan)\b", comment):
            word = f"method.{setting.partition(':')[0]}={number}"
            build(compose_configs([f"method={file.stem}", *TINY, word])[0])
