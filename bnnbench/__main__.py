"""`python -m bnnbench` is the `bnnbench` command."""

from bnnbench.cli.entry import command

if __name__ == "__main__":
    command()
