"""Demos: built-in tasks that the server plays itself, judged by a simulated labeller or by people.

The start page and `plaudit demo` use them, so that a new user sees an agent learn at once.
"""
