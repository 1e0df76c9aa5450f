"""The user's own table: a file of rows and columns, read, checked and made numbers."""
