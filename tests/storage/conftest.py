"""Real servers, started once for each worker and ended with it."""

import pytest

from tests.support.servers import PostgresServer, S3Server


@pytest.fixture(scope="session")
def s3_server():
    with S3Server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_server():
    with PostgresServer() as server:
        yield server


@pytest.fixture
def s3(s3_server, monkeypatch):
    """The server, and the environment that lets a client in."""
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return s3_server


@pytest.fixture
def postgres(postgres_server, monkeypatch):
    """The server, and the environment that lets a client in."""
    for name, value in postgres_server.environment.items():
        monkeypatch.setenv(name, value)
    return postgres_server
