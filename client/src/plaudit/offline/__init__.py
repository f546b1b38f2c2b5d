"""Acting without the server: policies that run here, and a spool of episodes to upload later.

Plain Python: neither NumPy nor a network is needed to act.
"""
