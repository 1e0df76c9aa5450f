"""What the thesis proves and what follows from it, by exact numbers; no sprinkler in here.

Imports from below `suites`, and of this suite the objectives alone.
"""
