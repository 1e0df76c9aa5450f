"""The parts of `bnnbench run --help` that depend on the configuration: options and settings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bnnbench.cli.help_format import layout
from bnnbench.config.configs import CONFIG_NAME, config_folder
from bnnbench.files import read_text

SHOWN = (
    *("seed", "splits", "workers", "outputs_dir", "resume", "figures", "data_dir"),
    *("search.iterations", "training.epochs", "training.final_epochs", "training.batch_size"),
    *("training.learning_rate", "network.width", "evaluation.samples"),
)
"""Settings that a new user may want to change."""

GROUPS_TITLE = "choose an option of a group with GROUP=OPTION:"

SETTINGS_TITLE = (
    "change a setting with KEY=VALUE, such as one of these (with their current values):"
)

READ_ON = """\
see also:
  bnnbench list GROUP       the options of a group, such as `bnnbench list method`
  bnnbench list OPTION      one option and its settings, such as `bnnbench list vadam`
  bnnbench run --cfg job    all settings and their values; add --resolve to see what they refer to
  docs/reference            methods, data sets, divergences, metrics, output files
"""


def describe_choices(
    groups: Mapping[str, Sequence[str]], values: Mapping[str, str], columns: int
) -> str:
    """Return the options of every group, and settings with their values and explanations."""
    comments = default_comments()
    options = [f"  {group}  {', '.join(names)}" for group, names in groups.items()]
    settings = [f"  {key}={value}  {comments[key]}" for key, value in values.items()]
    lines = [GROUPS_TITLE, *options, "", SETTINGS_TITLE, *settings, "", READ_ON]
    return layout("\n".join(lines), columns)


def default_comments() -> dict[str, str]:
    """Return the comment of each setting of the main file and of its default options."""
    import yaml

    main = read_text(config_folder() / f"{CONFIG_NAME}.yaml")
    found = setting_comments(main)
    chosen = (entry for entry in yaml.safe_load(main)["defaults"] if isinstance(entry, dict))
    for group, name in (pair for entry in chosen for pair in entry.items()):
        text = read_text(config_folder() / group / f"{name}.yaml")
        prefix = "" if text.startswith("# @package _global_") else f"{group}."
        found |= {f"{prefix}{key}": comment for key, comment in setting_comments(text).items()}
    return found


def setting_comments(text: str) -> dict[str, str]:
    """Return the comment of each setting of a YAML text: at the end of its line, or above it."""
    found: dict[str, str] = {}
    keys: list[str] = []
    above: list[str] = []
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            above.append(line.lstrip(" #"))
            continue
        setting = re.match(r"( *)(\w+):.*?(?:  # (.*))?$", line)
        if setting:
            keys[len(setting[1]) // 2 :] = [setting[2]]
            found[".".join(keys)] = setting[3] or " ".join(above)
        above = []
    return found
