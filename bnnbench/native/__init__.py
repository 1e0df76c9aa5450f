"""Code for the processor itself: one C++ file, built when it is first needed, and called by ctypes.

May import nn, settings, files and types. Without a compiler there is none of it, and torch computes
the same.
"""
