"""Finished runs, read from their folders into tables; their names, labels and filters."""
