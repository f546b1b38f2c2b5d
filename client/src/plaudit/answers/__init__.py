"""What the server answers with, as small frozen dataclasses; one file for each noun.

Names and fields are those of the server's OpenAPI document.
"""
