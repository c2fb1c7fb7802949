"""Answers records on Argilla's web page in a real browser, as a person would; prints what was answered as JSON.

A program of its own: playwright may be installed for another interpreter than the one of the tests.
Arguments: the browser's program, the server's address, the dataset's page, a user name, a password, the labels.
"""

from __future__ import annotations

import json
import sys

from playwright.sync_api import sync_playwright


def sign_in(page, url, username, password):
    """Sign in as a person."""
    page.goto(f"{url}/sign-in")
    page.locator("input[type=password]").fill(password)
    page.locator("input").first.fill(username)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "sign-in" not in address)


def shown(page, before):
    """Wait for another record than the one before, and give its question."""
    question = page.get_by_text("What is").first
    question.wait_for()
    page.wait_for_function(
        "before => { const found = document.body.innerText.match(/What is .*/); return found && found[0] !== before }",
        arg=before,
    )
    return question.inner_text().strip()


def answer(page, button, label):
    """Choose a label where one is given, and press a button; give back when the server has it."""
    if label:
        choice = page.locator("label", has_text=label).first
        filled_in = page.locator(f'[id="{choice.get_attribute("for")}"]').is_checked()
        if not filled_in:  # another click would take it back
            choice.click()
    with page.expect_response(lambda found: "responses" in found.url and found.ok):
        page.get_by_role("button", name=button).first.click()


def main(program, url, address, username, password, *labels):
    """Submit an answer for each label, then discard one record and leave one as a draft."""
    done = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1500, "height": 900})
        sign_in(page, url, username, password)
        page.goto(address)
        before = ""
        plan = [("Submit", label) for label in labels] + [("Discard", None), ("Save as draft", labels[0])]
        for button, label in plan:
            before = shown(page, before)
            answer(page, button, label)
            done.append({"question": before, "button": button, "label": label})
        body = page.inner_text("body")
        browser.close()
    sys.stdout.write(json.dumps({"done": done, "body": body}))


main(*sys.argv[1:])
