"""Our sprinkler beside the thesis's: its tables, tests between configurations, and its claims.

Imports `report` and what lies below, and of this suite the light modules; nothing that knows torch.
"""
