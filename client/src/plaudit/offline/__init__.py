"""Acting without the server: policies that run here, with the actions that it would choose.

Plain Python: neither NumPy nor a network is needed to act.
"""
