"""Experiments: the protocol, its resumable execution and the files of a run."""
