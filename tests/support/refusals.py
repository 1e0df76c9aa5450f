"""Settings that an experiment refuses, met where they are checked: as a run is built.

That the command line makes one sentence of every refusal, and writes nothing, is for
tests/cli/test_mistakes.py to say.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import DictConfig, OmegaConf

from bnnbench.cli.build import build, refuse_idle
from bnnbench.cli.compose import CONFIG_NAME, plain
from bnnbench.cli.configs import ALL_GROUPS, config_folder
from bnnbench.cli.words import quote_words
from bnnbench.types import UserError
from support.user_errors import assert_one_sentence


def assert_refused(words: list[str], *said: str) -> None:
    """`bnnbench run WORDS` ends, before anything is run, with one sentence that says each part.

    Args:
        words: options, which are composed once for all that have the same, and settings.
        said: parts of the sentence.
    """
    is_choice = {word: word.partition("=")[0] in ALL_GROUPS for word in words}
    config = deepcopy(_chosen(tuple(word for word in words if is_choice[word])))
    settings = quote_words([word for word in words if not is_choice[word]])
    for setting in OverridesParser.create().parse_overrides(settings):
        assert OmegaConf.select(config, setting.key_or_group, default=config) is not config
        OmegaConf.update(config, setting.key_or_group, setting.value())
    with pytest.raises(UserError) as refused:
        experiment = build(plain(config)).experiment
        keys = [word.partition("=")[0] for word in words]
        refuse_idle(type(experiment), experiment.label, keys)
    assert_one_sentence(refused, *said)


@cache
def _chosen(options: tuple[str, ...]) -> DictConfig:
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        return compose(CONFIG_NAME, overrides=quote_words(options))
