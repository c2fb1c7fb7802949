"""Templates: the words of a question made of the words of facts, so that it is grammatical without a model.

The question about a subject keeps the clause as it stands ("Who was born in Lumm?"). The question about an object moves
an auxiliary to the front ("What is bell owned by?") or adds "does" to a regular verb ("What does bell call?").
"""

from __future__ import annotations

import re

from greval.methods.index_records import Entity
from greval.reference.extraction.words import AUXILIARIES, HONORIFICS, ROLES, read_words
from greval.reference.questions.records import StatedFact

NOT_FRONTED = read_words("has have had do does did")
"""Auxiliaries that may be the only verb, so that they are not moved to the front."""
_KIN = read_words("aunt uncle brother sister cousin captain general colonel major squire don lady lord miss young")
_PLACING = read_words("built born located based situated founded buried held made printed raised moored stationed")
TITLES = HONORIFICS | ROLES | _KIN
_PERSONAL = re.compile(r"\b(?:he|she|his|her|him|himself|herself)\b", re.IGNORECASE)
_PLURALS = {"is": "are", "was": "were", "has": "have", "does": "do"}
_SIBILANTS = ("sses", "shes", "ches", "xes", "zes", "oes")
DATE = re.compile(
    r"\b(?P<word>in|since|until|before|after|by)\s+(?P<year>1\d{3}|20\d\d)\b"
    r"|\b(?P<on>on)\s+(?P<day>(?:\d{1,2}\s+(?P<month>January|February|March|April|May|June|July|August|September|"
    r"October|November|December)|(?:January|February|March|April|May|June|July|August|September|October|November|"
    r"December)\s+\d{1,2})(?:,?\s+(?:1\d{3}|20\d\d))?)\b"
)
"""A date with its preposition: a year, or a day of a month."""


def choose_question_word(entity: Entity, stated: str = "") -> str:
    """Return the question word for an entity: who for a person, what for a thing, both if it is not known.

    Pronouns of the stated sentences, which begin with the entity, show a person.

    Example:
        >>> choose_question_word(Entity(name="Aunt Katy")), choose_question_word(Entity(name="seat-map"))
        ('who', 'what')
    """
    first = entity.name.split()[0]
    if entity.type.casefold() == "person" or first.casefold() in TITLES or _PERSONAL.search(stated):
        return "who"
    is_code = entity.name[0].islower() or any(c.isdigit() for c in entity.name)
    return "what" if entity.type or is_code else "who or what"


def ask_for_subject(word: str, clause: str) -> str:
    """Return the question to which the subject of a clause is the answer.

    Example:
        >>> ask_for_subject("who", "was born in Lumm")
        'Who was born in Lumm?'
    """
    return f"{_capitalise(word)} {clause}?"


def ask_for_object(word: str, subject: str, predicate: str) -> str | None:
    """Return the question to which the object of a predicate is the answer; None if the verb has no known base form.

    Example:
        >>> ask_for_object("what", "bell", "is owned by"), ask_for_object("what", "bell", "calls")
        ('What is bell owned by?', 'What does bell call?')
        >>> ask_for_object("what", "bell", "was built in")
        'Where was bell built?'
    """
    fronted = front_verb(subject, predicate)
    if fronted is None:
        return None
    if is_place(predicate):
        return f"Where {fronted.rpartition(' ')[0]}?"
    return f"{'What' if predicate.endswith((' in', ' at')) else _capitalise(word)} {fronted}?"


def is_place(predicate: str) -> bool:
    """Return whether the object of a predicate is a place.

    Example:
        >>> is_place("was built in"), is_place("is owned by")
        (True, False)
    """
    *_, verb, preposition = ("", "", *predicate.split())
    return preposition in {"in", "at"} and verb in _PLACING


def front_verb(subject: str, predicate: str) -> str | None:
    """Return subject and predicate with the auxiliary in front; None if the verb has no known base form.

    Example:
        >>> front_verb("bell", "reads the gauge at")
        'does bell read the gauge at'
    """
    verb, _, tail = predicate.partition(" ")
    # "What is Surry the garden of?" is no English.
    if verb in AUXILIARIES and tail.startswith(("a ", "an ", "the ")):
        return None
    if verb in AUXILIARIES and verb not in NOT_FRONTED:
        return f"{verb} {subject} {tail}".strip() if tail else None
    base = find_base_form(verb)
    return f"does {subject} {base} {tail}".strip() if base else None


def find_base_form(verb: str) -> str | None:
    """Return the base form of a verb in the third person of the present; None if it has no such ending.

    Example:
        >>> find_base_form("calls"), find_base_form("carries"), find_base_form("wrote")
        ('call', 'carry', None)
    """
    if verb in AUXILIARIES or not verb.endswith("s") or verb.endswith("ss"):
        return None
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    return verb[:-2] if verb.endswith(_SIBILANTS) else verb[:-1]


def use_plural(clause: str) -> str | None:
    """Return a clause with its verb in the plural; None if the plural is not known.

    Example:
        >>> use_plural("is owned by Team Tern"), use_plural("calls bell")
        ('are owned by Team Tern', 'call bell')
    """
    verb, _, tail = clause.partition(" ")
    plural = _PLURALS.get(verb) or find_base_form(verb)
    return f"{plural} {tail}" if plural else clause if verb.endswith("ed") else None


def replace_date(fact: StatedFact) -> tuple[str, str] | None:
    """Return the question for the date of a fact, and the date; None if it has no date or several.

    Example:
        >>> fact = StatedFact(subject="Ada", clause="wrote it in 1843", chunk="d#1", document="d", sentence="")
        >>> replace_date(fact)
        ('Ada wrote it in which year?', '1843')
    """
    dated = ask_for_date(fact.clause)
    return None if dated is None else (f"{fact.subject} {dated[0]}?", dated[1])


def ask_for_date(text: str) -> tuple[str, str] | None:
    """Return a text with a question in place of its date, and the date; None if it has no date or several.

    Example:
        >>> ask_for_date("In winter it was built on 3 May")
        ('In winter it was built on which day', '3 May')
    """
    dates = [*DATE.finditer(text)]
    if len(dates) != 1:
        return None
    date = dates[0]
    wording = f"{date['word']} which year" if date["year"] else "on which day"
    return f"{text[: date.start()]}{wording}{text[date.end() :]}", date["year"] or date["day"]


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:]
