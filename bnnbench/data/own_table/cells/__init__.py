"""What a cell says in any notation: a missing value, a number, a quantity or a date."""
