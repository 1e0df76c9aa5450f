"""Encodings of text that is not UTF-8."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.user_errors import raises_user_error

from bnnbench.data.own_table.read.table_file import read_frame
from bnnbench.data.own_table.read.text_file import ReadingSettings

DOUBTFUL = {
    "euc_kr": ("서울", "부산", "대구"), "cp932": ("東京", "大阪", "京都"),
    "gb18030": ("北京", "上海", "广州"), "big5": ("臺北", "高雄", "臺中"),
    "cp1251": ("Москва", "Казань", "Самара"), "mac_roman": ("Größe", "München", "Périgueux"),
    "cp437": ("Köln", "Düsseldorf", "Genève"), "cp1250": ("Plzeň", "Třebíč", "Řež"),
    "cp1253": ("Αθήνα", "Πάτρα", "Θήβα"), "koi8_r": ("Казань", "Москва", "Самара"),
}  # fmt: skip


def written(folder: Path, words: tuple[str, ...], encoding: str) -> Path:
    path, rows = folder / "t.csv", [f"{word},{k}" for k, word in enumerate(words * 5)]
    path.write_bytes("\n".join(["city,y", *rows]).encode(encoding))
    return path


@pytest.mark.parametrize("encoding", DOUBTFUL)
def test_the_right_text_is_among_those_of_other_encodings(tmp_path: Path, encoding: str) -> None:
    words = DOUBTFUL[encoding]
    path = written(tmp_path, words, encoding)
    try:
        notes = read_frame(path, ReadingSettings())[1]
    except Exception as error:  # cp1252 does not have all bytes
        notes = str(error)
        with raises_user_error("dataset.encoding"):
            read_frame(path, ReadingSettings())
    assert f"gives {words[0]!r}" in notes and "dataset.encoding" in notes
    frame, notes = read_frame(path, ReadingSettings(encoding=encoding))
    assert frame["city"][:3].tolist() == [*words] and "gives" not in notes


def test_an_encoding_that_fails_is_no_candidate(tmp_path: Path) -> None:
    with raises_user_error("dataset.encoding") as error:
        read_frame(written(tmp_path, ("José", "\x81", "a"), "latin-1"), ReadingSettings())
    assert "cp1252 gives" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "encoding"),
    [(("Zürich", "Genève", "Bern"), "cp1252"), (("Größe (m²)", "à", "21 °C"), "cp1252"),
     (("“Top”", "“Flop”", "“é”"), "cp1252"), (("price (€)", "5 €", "6 £"), "cp1252"),
     (("España", "São Paulo", "Ísafjörður"), "utf-8"),
     (("서울", "부산", "대구"), "utf-8"), (("Oslo", "Bergen", "Rome"), "ascii")],
)  # fmt: skip
def test_plausible_text_is_not_doubted(
    tmp_path: Path, words: tuple[str, ...], encoding: str
) -> None:
    frame, notes = read_frame(written(tmp_path, words, encoding), ReadingSettings())
    assert "gives" not in notes and words[0] in frame["city"].tolist()
