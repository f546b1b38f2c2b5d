"""The schemas of what crosses HTTP, one file for each noun. Nothing heavy is imported here."""
