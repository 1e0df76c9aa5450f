"""The split experiment: its plan and cost, folds, search, fits and protocol."""
