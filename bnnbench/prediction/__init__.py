"""Models fitted to all rows, and their predictions of new rows with intervals."""
