"""The endpoints of the server as flows, one file for each resource.

Every function has the name of its operation in the server's OpenAPI document.
"""
