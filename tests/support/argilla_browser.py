"""Answers records on Argilla's web page in a real browser, as a person would.

A program of its own: playwright's loop would stand in the way of those of greval. It reads a job as
JSON (`program`, `flags`, `url`, `page`, `username`, `password`, `pattern`, `plan`) and prints what it
did. `pattern` finds the text by which a person tells the shown record from others; `plan` is a list of
buttons, each with the label to choose before, or none, or the labels of several questions.
"""

from __future__ import annotations

import json
import re
import sys

from playwright.sync_api import sync_playwright

ANSWERED = re.compile(r"/records/([^/]+)/responses$")
SHOWN = """([pattern, before]) => {
    const found = document.body.innerText.match(new RegExp(pattern));
    return found && found[0] !== before && found[0];
}"""

CELLS = """(nodes) => nodes.map((node) => {
    const { left, right, top } = node.getBoundingClientRect();
    return { text: node.innerText, left, right, top };
})"""


def sign_in(page, job):
    """Sign in as a person."""
    page.goto(f"{job['url']}/sign-in")
    page.locator("input[type=password]").fill(job["password"])
    page.locator("input").first.fill(job["username"])
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "sign-in" not in address)


def shown(page, pattern, before):
    """Wait for another record than the one before, and give the text that names it."""
    return page.wait_for_function(SHOWN, arg=[pattern, before]).json_value()


def answer(page, button, label):
    """Choose the labels that are given, and press a button; give the id of the record that the server was told."""
    for one in [label] if isinstance(label, str) else label or ():
        choice = page.locator("label", has_text=re.compile(rf"(^|\s){re.escape(one)}\s*$")).first  # after its key
        filled_in = page.locator(f'[id="{choice.get_attribute("for")}"]').is_checked()
        if not filled_in:  # another click would take it back
            choice.click()
    with page.expect_response(lambda found: found.ok and ANSWERED.search(found.url)) as told:
        page.get_by_role("button", name=button).first.click()
    return ANSWERED.search(told.value.url)[1]


def work(page, job):
    """Do the job; give each thing done with the record that was seen."""
    sign_in(page, job)
    page.goto(job["page"])
    seen = None
    for button, label in job["plan"]:
        seen = shown(page, job["pattern"], seen)
        cells = page.locator("td").evaluate_all(CELLS)
        record = answer(page, button, label)
        yield {"seen": seen, "record": record, "button": button, "label": label, "cells": cells}


def main():
    """Read the job, do it in a browser, and print what was done with the text of the page at its end."""
    job = json.load(sys.stdin)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=job["program"], args=job["flags"])
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        done = [*work(page, job)]
        found = {"done": done, "body": page.inner_text("body"), "title": page.title()}
        browser.close()
    json.dump(found, sys.stdout)


main()
