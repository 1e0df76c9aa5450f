"""The choice of a method for a table: which runs are compared, and which of them is recommended."""
