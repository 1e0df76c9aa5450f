"""The command line: commands parse arguments and print. May import every other layer."""
