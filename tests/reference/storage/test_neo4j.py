"""A graph on a server: addresses, users, and databases of others. What it answers is in test_graph_store.py."""

from __future__ import annotations

import bolt_database
import pytest
from stored_graphs import read_stored_entities

from greval.errors import DataError
from greval.methods.index_records import Entity
from greval.reference.storage.graph_store import open_graph
from greval.reference.storage.neo4j import BATCH

neo4j = pytest.importorskip("neo4j", reason="the driver is not installed")
NAMES = ("NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_DATABASE")


@pytest.fixture
def environment(monkeypatch):
    """Return a function that sets the variables; without it, none is set."""
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
    return lambda **variables: [monkeypatch.setenv(f"NEO4J_{name}", value) for name, value in variables.items()]


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """Return a server with an empty database."""
    if not bolt_database.is_installed():
        pytest.skip("arcadedb-embedded is not installed")
    with bolt_database.BoltDatabase(tmp_path_factory.mktemp("bolt")) as started:
        yield started


def test_a_password_in_the_address_is_refused(environment, tmp_path):
    """The message names the variables to use, and does not repeat the password."""
    with pytest.raises(DataError, match="NEO4J_PASSWORD") as error:
        open_graph("bolt://ann:secret@127.0.0.1:7687", tmp_path)
    assert "secret" not in str(error.value)


def test_user_and_password_belong_together(environment, tmp_path):
    """One of the two alone is refused before anything is sent."""
    environment(PASSWORD="secret")
    with pytest.raises(DataError, match="or neither, got one") as error:
        open_graph("bolt://127.0.0.1:7687", tmp_path)
    assert "secret" not in str(error.value)


def test_a_server_that_is_down_is_named(environment, tmp_path):
    """The message holds the address and what to do, and not the password."""
    environment(USERNAME="ann", PASSWORD="secret")
    address = f"bolt://127.0.0.1:{bolt_database.find_port()}"
    with pytest.raises(DataError, match=f"{address}: the server cannot be reached") as error:
        open_graph(address, tmp_path)
    assert "secret" not in str(error.value)


@pytest.mark.nightly
def test_a_wrong_password_is_refused(environment, database, tmp_path):
    """The message does not repeat it."""
    environment(USERNAME="root", PASSWORD="secret-of-another", DATABASE="greval")
    with pytest.raises(DataError, match="the server refuses the user") as error:
        open_graph(database.address, tmp_path)
    assert "secret-of-another" not in str(error.value)


@pytest.mark.nightly
def test_entities_of_others_are_not_deleted(environment, database, tmp_path):
    """A database with nodes that greval did not write is refused, and keeps them."""
    environment(**{name.removeprefix("NEO4J_"): value for name, value in database.environment.items()})
    user = (bolt_database.USER, bolt_database.PASSWORD)
    with (
        neo4j.GraphDatabase.driver(database.address, auth=user) as driver,
        driver.session(database=bolt_database.DATABASE) as session,
    ):
        session.run("MATCH (n) DETACH DELETE n").consume()
        session.run("CREATE (:Entity {name: 'theirs'})").consume()
        store = open_graph(database.address, tmp_path, read_only=False)
        with pytest.raises(DataError, match="Entity nodes that greval did not write"):
            store.write([Entity(name="ours")], [])
        assert store.query("MATCH (e:Entity) RETURN e.name AS name") == [{"name": "theirs"}]
        session.run("MATCH (n) DETACH DELETE n").consume()
        many = [Entity(name=f"{row:05}") for row in range(BATCH + 1)]
        store.write(many, [])
        assert read_stored_entities(store) == many
        store.close()
