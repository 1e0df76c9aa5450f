"""Random changes of the files of runs and projects, as hypothesis strategies."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st
from support.runs import add_checksums

CANARY = "executed"
"""A file that the code in `PLANTED` creates."""

PLANTED = f"open({CANARY!r}, 'w').close()\n"

TAGGED = f"!!python/object/apply:os.system ['touch {CANARY}']"

NODES = st.one_of(
    st.sampled_from(
        [
            *(None, True, -1, 0, 1, 3, 10**30, 1e-300, 1e300, float("nan"), float("inf")),
            *("", " ", "a", "1", "nan", "a\0b", "\x1b]0;a\x07", "a\nb", "\u202e", "é" * 300),
            *("../../x", "/dev/zero", "/etc/passwd", "~", "$\\input{/etc/passwd}$", "[/x]"),
            *("<script>x</script>", "${oc.env:HOME}", "evil.Evil", "os.system", "subprocess.Popen"),
            *("bnnbench.methods.vadam.Vadam", "unittest.__main__.X", "__main__.X"),
            *([], {}, [[]], ["a"], {"a": 1}, [1, None], {"_target_": "evil.Evil"}),
        ]
    ),
    st.integers(-(10**6), 10**6),
    st.text(max_size=8),
)
"""Values in place of those of a document."""


def _paths(node: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values in nested mappings and lists."""
    found = [path] if path else []
    items = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node[:9] if isinstance(node, list) else ())
    )
    for key, value in items:
        found += _paths(value, (*path, key))
    return found


def change_document(draw: st.DrawFn, document: Any) -> Any:
    """Replace, remove, rename or repeat a value of nested mappings and lists."""
    path = draw(st.sampled_from(_paths(document)))
    *parents, last = path
    inner = document
    for key in parents:
        inner = inner[key]
    kind = draw(st.sampled_from(["replace", "replace", "replace", "remove", "rename", "nest"]))
    if kind == "remove":
        del inner[last]
    elif kind == "rename" and isinstance(inner, dict):
        inner[draw(st.sampled_from(["a", "\x1b", "_target_", "name"]))] = inner.pop(last)
    elif kind == "nest":
        inner[last] = [inner[last]]
    else:
        inner[last] = draw(NODES)
    return document


def change_bytes(draw: st.DrawFn, content: bytes) -> bytes:
    """Truncate bytes, flip a bit, or insert or repeat some."""
    place = draw(st.integers(0, max(0, len(content) - 1)))
    kind = draw(st.sampled_from(["truncate", "flip", "flip", "insert", "repeat", "nest"]))
    if kind == "truncate":
        return content[:place]
    if kind == "flip" and content:
        flipped = content[place] ^ (1 << draw(st.integers(0, 7)))
        return content[:place] + bytes([flipped]) + content[place + 1 :]
    if kind == "repeat":
        return content[:place] + content
    if kind == "nest":
        return draw(st.sampled_from([b"[", b"{", b'{"a":', b"a: &a [*a]\n", b"- "])) * 3000
    return content[:place] + draw(st.binary(max_size=5)) + content[place:]


def change_kind(draw: st.DrawFn, path: Path) -> None:
    """Replace a file by something that is no file of the folder."""
    path.unlink()
    kind = draw(st.sampled_from(["nothing", "folder", "pipe", "device", "outside", "itself"]))
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind != "nothing":
        target = {"device": "/dev/zero", "outside": "/etc/passwd", "itself": path}[kind]
        path.symlink_to(target)


def change_csv(draw: st.DrawFn, content: bytes) -> bytes:
    """Replace a cell or the name of a column."""
    rows = [line.split(",") for line in content.decode().splitlines()]
    row = draw(st.sampled_from([rows[0], *rows[1:3]]))
    row[draw(st.integers(0, len(row) - 1))] = str(draw(NODES)).replace(",", ";")
    return "\n".join(",".join(row) for row in rows).encode(errors="replace")


def change_json(draw: st.DrawFn, content: bytes) -> bytes:
    return json.dumps(change_document(draw, json.loads(content))).encode()


def change_yaml(draw: st.DrawFn, content: bytes) -> bytes:
    if draw(st.integers(0, 9)) == 0:
        return content + f"\nx: {TAGGED}\n".encode()
    return yaml.safe_dump(change_document(draw, yaml.safe_load(content))).encode()


def change_tensors(draw: st.DrawFn, content: bytes) -> bytes:
    """Remove a tensor, or change its name, shape, type or values."""
    import torch
    from safetensors.torch import load, save

    tensors = load(content)
    name = draw(st.sampled_from(sorted(tensors)))
    old = tensors.pop(name)
    new = {
        "remove": lambda: {},
        "rename": lambda: {f"{name}x": old},
        "grow": lambda: {name: torch.cat([old.flatten(), old.flatten()])},
        "shape": lambda: {name: old.flatten()[None, None]},
        "empty": lambda: {name: old.flatten()[:0]},
        "half": lambda: {name: old.half()},
        "integers": lambda: {name: old.long()},
        "bits": lambda: {name: old > 0},
        "nan": lambda: {name: torch.full_like(old.double(), torch.nan)},
        "large": lambda: {name: torch.full_like(old, 10**18)},
        "negative": lambda: {name: -old - 1},
        "roll": lambda: {name: old.roll(1)},
    }
    return save(tensors | new[draw(st.sampled_from(sorted(new)))]())


FORMATS: Mapping[str, Callable[[st.DrawFn, bytes], bytes]] = {
    ".json": change_json,
    "DONE": change_json,
    ".yaml": change_yaml,
    ".csv": change_csv,
    ".safetensors": change_tensors,
}
"""Changes that keep a file readable, by the end of its name."""


def change_file(draw: st.DrawFn, path: Path) -> bool:
    """Change a file; return whether it is still a file, whose checksums can be corrected."""
    kind = draw(st.sampled_from(["valid", "valid", "valid", "bytes", "kind"]))
    format_ = next((f for end, f in FORMATS.items() if path.name.endswith(end)), change_bytes)
    if kind == "kind":
        change_kind(draw, path)
        return False
    change = format_ if kind == "valid" else change_bytes
    path.write_bytes(change(draw, path.read_bytes()))
    return True


def seal(root: Path) -> None:
    """Correct the checksums of a run and its model, as somebody who wants to deceive would."""
    from bnnbench.experiment.model_file import CHECKSUM, JSON_FILE, TENSOR_FILE, _sum
    from bnnbench.experiment.run_folder import RunFolder
    from bnnbench.files import checksum

    folder = RunFolder(root)
    names = [
        name for name in json.loads(folder.done.read_text())["files"] if (root / name).is_file()
    ]
    add_checksums(folder, *names)
    about = json.loads((root / "model" / JSON_FILE).read_text())
    about.pop(CHECKSUM, None)
    sources = folder.config.read_bytes() + folder.table("splits").read_bytes()
    if about.get("source"):
        about["source"] = checksum(sources)
    sum_ = _sum((root / "model" / TENSOR_FILE).read_bytes(), about)
    (root / "model" / JSON_FILE).write_text(json.dumps(about | {CHECKSUM: sum_}))
