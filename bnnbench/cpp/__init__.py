"""C++ files, built when first needed and called by ctypes, and random numbers made by one of them.

May import files and types. Without a compiler there is none of it, and torch and numpy compute the
same.
"""
