"""Native code: C++ files that are compiled on first use and called with ctypes.

Without a compiler, torch and numpy compute the same results. May import files and types.
"""
