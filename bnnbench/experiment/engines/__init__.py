"""Where groups of units are computed: on this machine, or on many.

An engine may lose a group, run it again or run it twice: what is finished is what is on disk. May
import everything of `experiment` but what executes runs. Knows neither pages nor the command line.
"""
