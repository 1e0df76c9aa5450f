"""Final models of finished runs, and their predictions of new rows with intervals."""
