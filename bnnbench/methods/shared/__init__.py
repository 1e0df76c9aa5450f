"""Building blocks of methods: base classes, the stacked trainer, Gaussians, curvature, diagnostics.

May import whatever methods may import, but no method.
"""
