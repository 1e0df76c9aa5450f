"""Hyper-parameter search: pure functions from the trials so far to the next values.

`acquisition` chooses rows to label next. May import settings, checks, identity and types; must not
import methods.
"""
