"""What finished runs say, as pandas tables; imports experiments and what lies below, draws nothing.

Read `reader` first: it makes `Runs` of a folder, from which every other table here follows.
"""
