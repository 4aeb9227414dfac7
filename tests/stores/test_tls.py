"""Servers prove who they are: a certificate of nobody we know is refused, one of an authority that the user names is accepted."""

import re

import pytest

from leftoff.errors import StorageError
from leftoff.flows.bench_servers import S3Server
from leftoff.stores.postgres import PostgresStore
from leftoff.stores.s3 import S3Store
from leftoff.stores.s3_objects import Bucket
from leftoff.testing.store_promises import a_log
from tests.stores import tls

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return tls.make(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def certificate(authority, tmp_path_factory):
    """Of a server, by the authority."""
    return tls.make(tmp_path_factory.mktemp("server"), "server", signed_by=authority)


@pytest.fixture(scope="module")
def self_signed(tmp_path_factory):
    return tls.make(tmp_path_factory.mktemp("self-signed"), "self-signed")


class SecureS3(S3Server):
    """The bucket, by https only."""

    def __init__(self, certificate):
        super().__init__()
        self._certificate = certificate

    def command(self):
        return [
            *super().command(),
            "--cert",
            str(self._certificate.file),
            "--key",
            str(self._certificate.key),
        ]

    @property
    def url(self):
        return f"https://{self.address}"


def s3_store(server, monkeypatch):
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return S3Store(Bucket(name="logs", endpoint_url=server.url))


def test_a_bucket_behind_a_certificate_of_a_named_authority_is_used(authority, certificate, monkeypatch):
    """AWS_CA_BUNDLE names it; without that nobody does, and nothing is sent."""
    with SecureS3(certificate) as server:
        with pytest.raises(StorageError, match=r"certificate could not be verified\. Mend it there, or name"):
            s3_store(server, monkeypatch).save(a_log("s"))
        monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.file))
        store = s3_store(server, monkeypatch)
        assert store.list() == []
        store.save(a_log("s"))
        assert store.load("s").to_dict() == a_log("s").to_dict()


def test_a_bucket_behind_a_certificate_of_its_own_is_refused(authority, self_signed, monkeypatch):
    """In one sentence, also where another authority is named."""
    with SecureS3(self_signed) as server:
        for bundle in (None, str(authority.file)):
            if bundle is not None:
                monkeypatch.setenv("AWS_CA_BUNDLE", bundle)
            with pytest.raises(StorageError) as told:
                s3_store(server, monkeypatch).list()
            assert str(told.value) == (
                f"s3://logs/leftoff at {server.url}: the server's certificate could not be verified. "
                "Mend it there, or name its authority in AWS_CA_BUNDLE."
            )


def dsn(proxy, host=tls.NAME):
    """By a name that is not this machine's, so it must prove who it is; the address says where it really is."""
    return f"host={host} hostaddr=127.0.0.1 port={proxy.port}"


@pytest.fixture
def database(postgres, monkeypatch):
    monkeypatch.delenv("PGHOST")
    return postgres


def test_a_database_behind_a_certificate_of_a_named_authority_is_used(
    database, authority, certificate, monkeypatch
):
    """PGSSLROOTCERT or sslrootcert names it."""
    with tls.TlsProxy(database.port, certificate) as proxy:
        named = PostgresStore(f"{dsn(proxy)} sslrootcert={authority.file}")
        named.save(a_log("over-tls"))
        monkeypatch.setenv("PGSSLROOTCERT", str(authority.file))
        store = PostgresStore(dsn(proxy))
        assert store.load("over-tls").to_dict() == a_log("over-tls").to_dict()
        assert store.delete("over-tls") is True
        assert (proxy.seen, proxy.plain) == (2, 0)
        del named, store  # they close their connections


@pytest.mark.parametrize("told", ["", "sslmode=disable", "sslmode=require"])
def test_a_database_behind_a_certificate_of_its_own_is_refused(
    database, authority, self_signed, monkeypatch, told
):
    """With the authorities of the system and with a named one, whatever the dsn says; the password is never sent."""
    with tls.TlsProxy(database.port, self_signed) as proxy:
        for named in ("", f"sslrootcert={authority.file}"):
            with pytest.raises(StorageError) as refused:
                PostgresStore(f"{dsn(proxy)} {told} {named}").list()
            assert re.fullmatch(
                r"PostgreSQL: the server's certificate could not be verified\. Name its authority in PGSSLROOTCERT, .*\.",
                str(refused.value),
            )
        assert proxy.plain == 0


def test_a_database_that_is_somebody_else_is_refused(database, authority, certificate):
    """The certificate is sound, and another server's."""
    with tls.TlsProxy(database.port, certificate) as proxy:
        store = PostgresStore(f"{dsn(proxy, 'other.example.test')} sslrootcert={authority.file}")
        with pytest.raises(StorageError, match="certificate could not be verified"):
            store.list()


def test_a_database_without_encryption_is_refused(database):
    """Asked by a name that is not this machine's."""
    store = PostgresStore(f"host={tls.NAME} hostaddr=127.0.0.1 port={database.port}")
    with pytest.raises(StorageError, match="the server offers no encryption"):
        store.list()
