"""Browsers of several people."""

import pytest

from tests.support.browser import Watched


@pytest.fixture
def people(chromium):
    """Browsers of people, each with cookies of its own; none may complain or look elsewhere."""
    watched, contexts, urls = Watched(), [], set()

    def person(url, **options):
        context = chromium.new_context(**options)
        watched.watch(context)
        contexts.append(context)
        urls.add(url)
        return context.new_page()

    yield person
    for context in contexts:
        context.close()
    assert watched.complaints == []
    assert watched.asked
    for url in urls:
        assert watched.strangers(url) == []
