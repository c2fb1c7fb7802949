"""The whole way, from empty and back, for each kind of metric: 300 records, people over the API and on the page.

Every step is killed with -9 in its middle, and done again.
"""

from __future__ import annotations

import html
import re
import sys
import time
from collections import Counter
from typing import NamedTuple

import pytest
from judged_runs import KINDS, VALUES, judged, rows
from killing import AFTER, BEFORE, killed_at_call, killed_at_write

from greval.trust.argilla.pull import pull_from_argilla
from greval.trust.argilla.push import push_to_argilla

COUNT = 300
PUSHES = [
    (AFTER, "POST", "/datasets"),  # the dataset is made, and nobody was told
    (BEFORE, "POST", "/fields"),
    (AFTER, "POST", "/questions"),
    (BEFORE, "PUT", "/publish"),
    (BEFORE, "PUT", "/bulk"),
    (AFTER, "PUT", "/bulk"),  # the records are there, and nobody was told
]
NAMED = {
    "tone": r"What is <number> (?P<n>\d+)",
    "depth": r"What is <number> (?P<n>\d+)",
    "chunk_use": r"chunk (?P<k>\d) of (?P<n>\d+)",
    "triple_use": r"s(?P<n>\d+) — is — (?P<k>\d)",
}
"""By which text a person tells one record of a metric from another."""
ITEM = {"chunk_use": "c{n}-{k}", "triple_use": "t{n}-{k}"}
EDITED = 3
EMPTY = {"status": "discarded", "values": {}}


class Said(NamedTuple):
    """What is submitted: which thing, as its text says, by whom, and which value."""

    sample_id: str
    method: str
    item: str | None
    annotator: str
    value: object

    @classmethod
    def of(cls, row):
        return cls(*(row[name] for name in cls._fields))


class People:
    """Ana and Bob answer over the API, Eve on the page; `said` is what each submits."""

    def __init__(self, owner, name):
        self.owner, self.name = owner, name
        self.records = owner.records(name)
        self.ana, self.bob, self.eve = owner.person(), owner.person(), owner.person()
        self.said = []
        self.counts = {one["username"]: Counter() for one in (self.ana, self.bob, self.eve)}

    def submit(self, person, record, value, comment=None):
        """Submit a value; a label reads as text."""
        self.owner.answer(person, record, "submitted", value if self.name == "depth" else str(value), comment)
        self._note(person, record, "submitted", value)

    def leave(self, person, record, status, value=None):
        """Leave a record as a draft, or discard it."""
        self.owner.answer(person, record, status, value)
        self._note(person, record, status)

    def _note(self, person, record, status, value=None):
        self.counts[person["username"]][status] += 1
        if status == "submitted":
            self.said.append(Said(*self.thing(record), person["username"], value))

    def thing(self, record):
        """Tell what a record is of by the text that a person reads, not by its metadata."""
        texts = html.unescape("\n".join(record["fields"].values()))
        found = re.search(NAMED[self.name], texts).groupdict()
        item = ITEM[self.name].format(**found) if self.name in ITEM else None
        return f"q{found['n']}", "walk" if int(found["n"]) % 2 else "local", item

    def over_the_api(self):
        """Both submit, with drafts and discards in every form; a record is edited between Ana's answer and Bob's."""
        values, records = VALUES[self.name], self.records
        label = values[0] if self.name == "depth" else str(values[0])
        for n, record in enumerate(records[:25]):
            self.submit(self.ana, record, values[n % len(values)], None if n else "why \u00fc")
        edited = {**records[EDITED]["fields"], "question": "Edited?"}
        self.owner.ask("PATCH", f"/records/{records[EDITED]['id']}", {"fields": edited})
        self.owner.ask("PATCH", f"/records/{records[4]['id']}", {"metadata": {}})
        for record in records[:15]:
            self.submit(self.bob, record, values[-1])
        self.leave(self.ana, records[25], "draft", label)
        self.leave(self.ana, records[26], "draft")
        self.leave(self.ana, records[27], "discarded")
        self.leave(self.ana, records[28], "discarded", label)
        self.owner.ask("POST", f"/records/{records[29]['id']}/responses", EMPTY, self.ana["api_key"])
        self._note(self.ana, records[29], "discarded")
        self.leave(self.bob, records[25], "discarded", label)
        self.leave(self.bob, records[26], "draft", label)

    def on_the_page(self, browse, page):
        """Eve submits four records, discards one and leaves one as a draft, as the page gives them to her."""
        labels = [VALUES[self.name][n] for n in (0, -1, 1, -1)]
        plan = [["Submit", str(label)] for label in labels]
        plan += [["Discard", None], ["Save as draft", str(labels[0])]]
        told = browse(page, self.eve, NAMED[self.name].replace("?P<", "?<"), plan)
        by_id = {record["id"]: record for record in self.records}
        statuses = {"Submit": "submitted", "Discard": "discarded", "Save as draft": "draft"}
        for done, label in zip(told["done"], [*labels, None, None], strict=True):
            record = by_id[done["record"]]
            assert done["seen"] in html.unescape("\n".join(record["fields"].values()))
            self._note(self.eve, record, statuses[done["button"]], label)
        assert len({done["record"] for done in told["done"]}) == len(plan)
        return told["body"]


def submitted(run):
    """Give what the run's file holds as submitted."""
    return sorted((Said.of(row) for row in rows(run / "annotations.jsonl") if row["status"] == "submitted"), key=str)


def told_of_rows(people, found, *, suggestions):
    """Check what rows say beside the value: the comment, what was in sight, drafts, and which text is another now."""
    assert {row["suggested"] for row in found} == {suggestions}
    assert [row["comment"] for row in found if row["comment"]] == ["why \u00fc"]
    pushed = {people.thing(record): record["metadata"]["content"] for record in people.records}
    places = [(row["sample_id"], row["method"], row["item"]) for row in found]
    other = {place for place, row in zip(places, found, strict=True) if row["content"] != pushed[place]}
    assert other == {people.thing(people.records[EDITED])}
    first = VALUES[people.name][0]
    drafts = [row["value"] for row in found if row["status"] == "draft"]
    assert Counter(drafts) == {first: 3, None: 1}  # of Ana with and without a value, of Bob, of Eve


def pushed_through_kills(owner, proxy, run, name, **options):
    """Push from empty, killed wherever it hurts, until it ends; give how often it was killed."""
    killed = [
        killed_at_call(
            proxy,
            lambda _, do, at, m=method, p=path: do == m and at.endswith(p),
            when,
            push_to_argilla,
            run,
            name,
            **options,
        )
        for when, method, path in PUSHES[:4]
    ]
    killed.append(killed_at_write(1, push_to_argilla, run, name, **options, url=owner.url))
    killed += [
        killed_at_call(
            proxy, lambda _, do, at, p=path: do == "PUT" and at.endswith(p), when, push_to_argilla, run, name, **options
        )
        for when, _, path in PUSHES[4:]
    ]
    assert killed == [True] * 7
    return len(killed)


def pulled_through_kills(owner, proxy, run, writes, **options):
    """Pull, killed while records are read and before each file is put in place; the file is the old one or the new."""
    path = run / "annotations.jsonl"
    before = path.read_text(encoding="utf-8") if path.exists() else None
    reads = killed_at_call(proxy, lambda _, __, at: "/records?" in at, BEFORE, pull_from_argilla, run, **options)
    killed, states = [reads], []
    for number in range(1, writes + 1):
        killed.append(killed_at_write(number, pull_from_argilla, run, **options, url=owner.url))
        states.append(path.read_text(encoding="utf-8") if path.exists() else None)
    assert killed == [True] * (writes + 1)
    done = pull_from_argilla(run, **{**options, "url": owner.url})
    now = path.read_text(encoding="utf-8")
    assert states == [before] * (writes - 1) + [now]  # the notes come last: the file stands then
    return done, len(killed)


@pytest.mark.nightly
@pytest.mark.parametrize("suggestions", [False, True], ids=["blind", "suggested"])
@pytest.mark.parametrize("name", KINDS)
def test_the_whole_way(owner, tmp_path, capsys, *, browse, proxy, name, suggestions):
    """From empty to annotations and again: exactly what was submitted comes back, each with the right id."""
    start = time.monotonic()
    metric = KINDS[name]
    run = judged(tmp_path / "run", metric, COUNT // 3 if metric.over else COUNT)
    options = {"dataset": name, "workspace": owner.workspace, "key": owner.key}
    killed = pushed_through_kills(owner, proxy, run, name, suggestions=suggestions, **options)
    done = push_to_argilla(run, name, suggestions=suggestions, **options)
    assert (done.judged, done.drawn, done.added, done.known, done.changed) == (COUNT, COUNT, 0, COUNT, 0)

    people = People(owner, name)
    assert len({people.thing(record) for record in people.records}) == len(people.records) == COUNT
    assert all(bool(record["suggestions"]) == suggestions for record in people.records)
    people.over_the_api()
    body = people.on_the_page(browse, done.page)
    assert "<number>" in body  # texts are shown as they are

    pulled, more = pulled_through_kills(owner, proxy, run, 3, **options)
    found = submitted(run)
    assert found == sorted(people.said, key=str)
    told_of_rows(people, rows(run / "annotations.jsonl"), suggestions=suggestions)
    counts = {
        person_counts.annotator: person_counts.model_dump(exclude={"annotator", "pending"})
        for person_counts in pulled.annotators
    }
    assert counts == {who: {"submitted": 0, "draft": 0, "discarded": 0, **said} for who, said in people.counts.items()}
    assert (pulled.records, pulled.edited, pulled.unknown, pulled.gone) == (COUNT, 1, 0, {})
    killed += more

    owner.ask("DELETE", f"/users/{people.bob['id']}")
    pulled, more = pulled_through_kills(owner, proxy, run, 4, **options)
    left = [answer for answer in people.said if answer.annotator != people.bob["username"]]
    assert submitted(run) == sorted(left, key=str)
    gone = [row["annotator"] for row in rows(pulled.gone_path)]
    assert gone == [people.bob["username"]] * people.counts[people.bob["username"]].total()
    killed += more

    before = owner.records(name)
    again = (push_to_argilla, run, name)
    assert killed_at_call(proxy, lambda _, __, at: "/records?" in at, AFTER, *again, suggestions=suggestions, **options)
    done = push_to_argilla(run, name, suggestions=suggestions, **options)
    assert (done.added, done.known, done.changed) == (0, COUNT, 0)
    assert owner.records(name) == before
    api = sum(people.counts[one["username"]].total() for one in (people.ana, people.bob))
    page = people.counts[people.eve["username"]].total()
    with capsys.disabled():
        sys.stdout.write(
            f"\n{name}, {'suggested' if suggestions else 'blind'}: {COUNT} records; {api} answers of two people over "
            f"the API, {page} of one on the page; {len(people.said)} submitted, {len(found)} pulled, {len(left)} after "
            f"one was deleted; killed {killed + 1} times; {time.monotonic() - start:.0f} s\n"
        )
