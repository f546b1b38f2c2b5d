"""Planning on a net: scattered centres stand for all states, grid points for gathered logits.

The centres come from `app.learning.continuous`; the policies are `policies.net.NetPolicy`.
"""
