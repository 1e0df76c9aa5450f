"""What is run: experiments as sets of independent units of work, and their resumable execution.

May import everything below: methods, search, data. Knows neither pages nor the command line.
"""
