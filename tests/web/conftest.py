"""Fixtures of the web page's tests: a browser, and pages of it that are logged in."""

import shutil

import pytest
from playwright.sync_api import sync_playwright

from support.web import Visit


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium")
    assert program, "Debian's chromium is missing: ./dev setup installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--disable-dev-shm-usage"])
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, engine, model):
    """Opens pages: visit() gives one that is logged in. What a page must never do fails the test at its end."""
    made = Visit(browser, engine)
    yield made
    made.close()


@pytest.fixture
def page(visit):
    return visit()
