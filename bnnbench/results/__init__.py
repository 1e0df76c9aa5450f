"""Results of finished runs as pandas tables; draws nothing.

Start with `read/run_tables.py`: it reads a folder into `Runs`, from which every other table is
computed. Unless a docstring says otherwise, `runs` is the result of `read_runs`, `table` has rows
of `Runs.scored`, `splits` rows of `Runs.splits`, and `pairs` rows of `compare_pairs`.
"""
