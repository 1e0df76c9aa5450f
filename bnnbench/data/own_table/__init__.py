"""The user's own table: read a file of rows and columns, check it and convert it to numbers.

Each folder imports only those before it: `cells`, `read`, `columns`.
"""
