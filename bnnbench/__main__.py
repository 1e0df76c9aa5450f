"""`python -m bnnbench` is the `bnnbench` command."""

from bnnbench.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
