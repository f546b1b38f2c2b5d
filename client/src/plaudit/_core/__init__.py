"""The machinery below the client: calls as generators, retries, streams, parsing.

Nothing here knows an endpoint, and only `http` knows httpx.
"""
