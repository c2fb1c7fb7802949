"""Planted faults: a pipeline over a synthetic graph, of which exactly one stage is broken.

A world of films, people, studios and cities is told by documents. A question is answered in six
stages: index, entry linking, walk (or vector search), fusion with a cut-off, answer, judge. What the
stages after the broken one do follows from what they are given. Nothing here is shared with
`greval.analysis.diagnosis`: the truth is which stage was broken, not what the record looks like.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from greval.records.case import Case
from greval.records.inventory import IndexInventory

STAGES = {
    "index": "not in the index",
    "entry": "entry not found",
    "walk": "not reached",
    "fusion": "dropped",
    "answer": "not used",
    "judge": "judged wrong",
}
"""The stages, and the cause that breaking each of them has."""

FIRST = ("Ada", "Bruno", "Carla", "Dmitri", "Elif", "Farid", "Greta", "Hugo", "Ines", "Jonas", "Katja", "Luis")
LAST = ("Moreau", "Nkemelu", "Okello", "Petrov", "Quist", "Rahimi", "Szabo", "Tanaka", "Ursin", "Vidal", "Weiss")
WORDS = ("Silent", "Golden", "Broken", "Northern", "Paper", "Distant", "Burning", "Hollow", "Crimson", "Winter")
THINGS = ("Harbour", "Garden", "Mirror", "Station", "Letter", "River", "Tower", "Orchard", "Bridge", "Island")
CITIES = ("Turin", "Lagos", "Oslo", "Porto", "Kazan", "Quito", "Ghent", "Izmir", "Leeds", "Busan", "Perth", "Lyon")
HOUSES = ("Aurora", "Bluebird", "Cobalt", "Driftwood", "Ember", "Falcon", "Granite", "Horizon", "Indigo", "Juniper")

Edge = tuple[str, str, str]


@dataclass(frozen=True)
class Fact:
    """An edge of the world and the document that tells it."""

    edge: Edge
    document: str


@dataclass(frozen=True)
class Question:
    """A question, the facts that its answer needs in order, where a walk should begin, and the answer."""

    text: str
    kind: str
    starts: tuple[str, ...]
    facts: tuple[Fact, ...]
    answer: str


@dataclass
class World:
    """All facts; documents tell one or more of them."""

    facts: list[Fact] = field(default_factory=list)
    films: list[str] = field(default_factory=list)
    one: dict[tuple[str, str], Fact] = field(default_factory=dict)

    def tell(self, document: str, *edge: str) -> None:
        """Add a fact."""
        fact = Fact((edge[0], edge[1], edge[2]), document)
        self.facts.append(fact)
        self.one[edge[0], edge[1]] = fact


@dataclass(frozen=True)
class Planted:
    """A case with the stage that was broken, the index, and whether the judge called the answer right."""

    case: Case
    stage: str
    inventory: IndexInventory
    right: bool

    @property
    def cause(self) -> str:
        """What a diagnosis should say."""
        return STAGES[self.stage]


def world(random: Random) -> World:
    """Make a world of 60 films, their directors, studios and cities."""
    made = World()
    people = [f"{first} {last}" for first in FIRST for last in LAST]
    random.shuffle(people)
    titles = [f"The {word} {thing}" for word in WORDS for thing in THINGS]
    made.films = random.sample(titles, 60)
    for house in HOUSES:
        made.tell(f"studio/{house}", f"{house} Pictures", "based in", random.choice(CITIES))
        made.tell(f"studio/{house}", f"{house} Pictures", "founded by", people[-1 - HOUSES.index(house)])
    for n, film in enumerate(made.films):
        director = people[n % 40]
        made.tell(f"film/{n}", film, "directed by", director)
        made.tell(f"film/{n}", film, "produced by", f"{HOUSES[n % len(HOUSES)]} Pictures")
        made.tell(f"film/{n}", film, "set in", random.choice(CITIES))
        if (director, "born in") not in made.one:
            made.tell(f"person/{n}", director, "born in", random.choice(CITIES))
    return made


def ask(made: World, random: Random) -> Question:
    """Ask for one fact, for a chain of two, or for what two films share."""
    film = random.choice(made.films)
    directed, produced = made.one[film, "directed by"], made.one[film, "produced by"]
    person, house = directed.edge[2], produced.edge[2]
    match random.randrange(4):
        case 0:
            return Question(f"Who directed {film}?", "single", (film,), (directed,), person)
        case 1:
            facts = (directed, made.one[person, "born in"])
            return Question(f"Where was the director of {film} born?", "chain", (film,), facts, facts[1].edge[2])
        case 2:
            facts = (produced, made.one[house, "based in"])
            return Question(f"Where is the studio of {film} based?", "chain", (film,), facts, facts[1].edge[2])
        case _:
            others = [one for one in made.films if one != film and made.one[one, "produced by"].edge[2] == house]
            other = random.choice(others)
            facts = (produced, made.one[other, "produced by"])
            return Question(f"Which studio made both {film} and {other}?", "shared", (film, other), facts, house)


class Pipeline:
    """A method under test that answers one question, with one stage broken.

    Args:
        made: The world.
        question: What is asked.
        broken: The stage to break.
        random: The source of all noise.
    """

    def __init__(self, made: World, question: Question, broken: str, random: Random) -> None:
        self.made, self.question, self.broken, self.random = made, question, broken, random
        self.walks = broken in {"entry", "fusion"} or random.random() < 0.7
        self.gives = random.choice(("both", "both", "texts", "triples")) if self.walks else "texts"
        self.aliases: dict[str, tuple[str, ...]] = {}
        self.needed = question.facts
        self.lost: Fact = random.choice(question.facts)
        self.known = self.index()
        self.starts: list[str] = []
        self.walked: list[Fact] = []

    def run(self, number: int) -> Planted:
        """Go through all stages."""
        if self.walks:
            self.starts = self.entry()
            self.walked = self.walk()
        kept = self.fusion()
        shown = {fact.document for fact in kept}  # a chunk is its whole document
        complete = all((fact in kept) if self.gives == "triples" else (fact.document in shown) for fact in self.needed)
        answer = self.answer(right=complete and self.broken != "answer")
        right = complete and self.broken not in {"answer", "judge"}
        return Planted(self.record(number, kept, answer), self.broken, self.inventory(), right)

    def index(self) -> list[Fact]:
        """Index the documents; broken, a needed document or a needed edge is missing."""
        needed = {fact.document for fact in self.needed}
        others = sorted({fact.document for fact in self.made.facts} - needed)
        gone = set(self.random.sample(others, 5))
        self.whole = self.walks and self.random.random() < 0.3  # the extraction lost an edge only
        if self.broken == "index" and not self.whole:
            gone.add(self.lost.document)
        known = [fact for fact in self.made.facts if fact.document not in gone]
        return [fact for fact in known if not (self.broken == "index" and fact == self.lost)]

    def entry(self) -> list[str]:
        """Link the question to nodes; broken, to wrong ones, or to one of two only."""
        nodes = sorted({end for fact in self.known for end in fact.edge[::2]})
        needed = {end for fact in self.needed for end in fact.edge[::2]}
        wrong = [node for node in nodes if node not in needed]
        found = [node for node in self.question.starts if node in nodes]
        if self.broken == "entry":
            kept = found[1:] if len(found) > 1 and self.random.random() < 0.4 else []
            return [*kept, *self.random.sample(wrong, self.random.choice((1, 2)))]
        return found + self.random.sample(wrong, self.random.choice((0, 0, 1)))

    def walk(self) -> list[Fact]:
        """Walk from the start nodes along the needed edges and some others; broken, it stops too early."""
        at, walked = set(self.starts), []
        stop = self.random.randrange(len(self.needed)) if self.broken == "walk" else None
        for n, fact in enumerate(self.needed):
            if n == stop:
                break
            if fact.edge[0] in at and fact in self.known:
                walked.append(fact)
                at |= {*fact.edge[::2]}
        near = [fact for fact in self.known if not at.isdisjoint(fact.edge[::2])]
        near = [fact for fact in near if fact not in self.needed]
        noise = self.random.sample(near, min(len(near), self.random.randrange(1, 5)))
        walked += noise
        return walked if self.random.random() < 0.5 else [*noise, *(f for f in walked if f not in noise)]

    def fusion(self) -> list[Fact]:
        """Choose what goes into the context; broken, a needed fact falls to the cut-off."""
        noise = [fact for fact in self.known if fact not in self.needed]
        noise = [fact for fact in noise if fact.document not in {need.document for need in self.needed}]
        found = self.walked if self.walks else self.searched()
        kept = [*found, *self.random.sample(noise, 4)]
        if self.broken == "fusion":
            gone = {self.lost.document} if self.random.random() < 0.6 else {f.document for f in self.needed}
            kept = [fact for fact in kept if fact.document not in gone]
        return kept

    def searched(self) -> list[Fact]:
        """Search by vectors, in a method that does not walk; broken, it misses a needed document."""
        found = [fact for fact in self.needed if fact in self.known]
        return [fact for fact in found if not (self.broken == "walk" and fact.document == self.lost.document)]

    def answer(self, *, right: bool) -> str:
        """Write the answer: the right one in some wording, or a wrong one."""
        true = self.question.answer
        if right:
            forms = (true, f"{true}.", true.upper(), f"It is {true}, by all that is known.", f"The answer is {true}")
            return self.random.choice(forms)
        kin = {end for fact in self.made.facts for end in fact.edge[::2]} - {true}
        same = [name for name in kin if name.split()[-1] == true.split()[-1] or len(name.split()) == len(true.split())]
        other = self.random.choice(sorted(name for name in same if true.casefold() not in name.casefold()))
        unsure = ("I do not know.", "The context does not say.", f"It may be {other}.", f"{other}", f"It is {other}.")
        if self.random.random() < 0.02:  # an answer that names the right one and means another
            return f"It is not {true} but {other}."
        return self.random.choice(unsure)

    def shown(self, name: str) -> str:
        """Write a name as some part of a pipeline writes it."""
        form = self.random.random()
        if form < 0.1:
            return name.upper()
        if form < 0.2:
            return name.replace(" ", "_").lower()
        if form < 0.25:
            other = f"{name} (alias)"
            self.aliases[name] = (other,)
            return other
        return name

    def edge(self, fact: Fact) -> Edge:
        """Write an edge as some part of a pipeline writes it."""
        source, label, target = fact.edge
        return self.shown(source), label.replace(" ", self.random.choice((" ", " ", "_"))), self.shown(target)

    def record(self, number: int, kept: list[Fact], answer: str) -> Case:
        """Write down what a case holds: what the stages did, and the gold."""
        documents = list(dict.fromkeys(fact.document for fact in kept))
        self.random.shuffle(documents)
        context: dict[str, object] = {}
        if self.gives != "triples":
            context["chunks"] = [self.chunk(n, name) for n, name in enumerate(documents)]
        elif self.random.random() < 0.5:  # recorded as none, or not recorded
            context["chunks"] = []
        if self.walks:
            edges = [self.edge(fact) for fact in self.walked]
            starts = [self.shown(name) for name in self.starts]
            ends = [edge[2] for edge in edges[-1:]]
            context["traversal"] = {"start_nodes": starts, "traversed_edges": edges, "final_nodes": ends}
        if self.gives in {"both", "triples"}:
            context["triples"] = [self.edge(fact) for fact in kept]
        return Case(
            id=f"{self.broken}-{number}",
            question=self.question.text,
            expected_answer=self.question.answer,
            method="walk" if self.walks else "vector",
            answer=answer,
            gold=self.gold(),
            tags={"query_type": self.question.kind},
            **context,
        )

    def chunk(self, number: int, document: str) -> dict[str, object]:
        """Write a chunk: the text of a document, with what the extraction may have lost."""
        told = [fact.edge for fact in self.made.facts if fact.document == document]
        text = " ".join(f"{source} was {label} {target}." for source, label, target in told)
        return {"id": f"{document}#{number}", "doc_id": document, "text": text, "score": round(1 - number / 20, 3)}

    def gold(self) -> dict[str, object]:
        """Write the gold, sometimes without what people leave out; aliases are told by it or by the index."""
        facts = self.needed
        nodes = dict.fromkeys(end for fact in facts for end in fact.edge[::2])
        gold: dict[str, object] = {"essential_docs": list(dict.fromkeys(fact.document for fact in facts))}
        texts_only = self.gives == "texts" and self.random.random() < 0.2  # it names no edges
        if texts_only or self.random.random() < 0.7:
            gold["start_nodes"] = self.question.starts
        if texts_only:
            return gold
        gold["expected_edges"] = [fact.edge for fact in facts]
        if self.random.random() < 0.7:
            gold["expected_nodes"] = list(nodes)
        if self.random.random() < 0.5:
            gold["aliases"] = {name: others for name, others in self.aliases.items() if name in nodes}
        return gold

    def inventory(self) -> IndexInventory:
        """Write down what the index holds, in writings of its own."""
        lost = self.lost.document if self.broken == "index" and self.whole else None
        documents = {fact.document for fact in self.known} | ({lost} if lost else set())
        nodes: dict[str, tuple[str, ...]] = {}
        for fact in self.known:
            for end in fact.edge[::2]:
                nodes[end] = (*nodes.get(end, ()), fact.document)
        return IndexInventory(
            documents=frozenset(documents),
            chunks={f"{document}#0": document for document in documents},
            nodes={name.replace(" ", "_") if self.random.random() < 0.1 else name: of for name, of in nodes.items()},
            edges={fact.edge: (fact.document,) for fact in self.known},
            aliases=self.aliases,
        )


def planted(each: int, seed: int = 20261) -> Iterator[Planted]:
    """Plant each of the six faults so often.

    Args:
        each: How often.
        seed: Makes the same world, questions and noise again.
    """
    random = Random(seed)
    made = world(random)
    for stage in STAGES:
        for number in range(each):
            yield _broken(made, stage, number, random)


def _broken(made: World, stage: str, number: int, random: Random) -> Planted:
    """Plant one fault; a break that by chance broke nothing is planted again."""
    while True:
        question = ask(made, random)
        found = Pipeline(made, question, stage, random).run(number)
        if not found.right:
            return found
