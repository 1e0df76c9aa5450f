"""The interface of an experiment, and base classes of its kinds."""
