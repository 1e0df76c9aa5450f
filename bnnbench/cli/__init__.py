"""The command line: the only layer that knows Hydra. May import everything, suites by discovery."""
