"""Code for the processor itself: two C++ files, built when first needed, and called by ctypes.

May import nn, settings, files and types. Without a compiler there is none of it, and torch computes
the same.
"""
