"""Results of finished runs as pandas tables; draws nothing.

Start with `reader`: it reads a folder into `Runs`, from which every other table is computed.
"""
