"""Certificates: an unknown one is refused, one of an authority that the user names is accepted."""

import re

import pytest

from leftoff.errors import StorageError
from leftoff.storage.postgres_store import PostgresStore
from leftoff.storage.s3_client import Bucket
from leftoff.storage.s3_store import S3Store
from leftoff.testing.store_promises import a_log
from tests.storage import tls
from tests.support.servers import S3Server

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return tls.make(tmp_path_factory.mktemp("authority"), "authority")


@pytest.fixture(scope="module")
def certificate(authority, tmp_path_factory):
    """Return the certificate of a server, signed by the authority."""
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


def test_a_bucket_with_a_certificate_of_a_named_authority_is_accepted(authority, certificate, monkeypatch):
    """``AWS_CA_BUNDLE`` names the authority, and nothing is sent without it."""
    with SecureS3(certificate) as server:
        with pytest.raises(StorageError, match=r"certificate could not be verified\. Fix it there, or name"):
            s3_store(server, monkeypatch).save(a_log("s"))
        monkeypatch.setenv("AWS_CA_BUNDLE", str(authority.file))
        store = s3_store(server, monkeypatch)
        assert store.list() == []
        store.save(a_log("s"))
        assert store.load("s").to_dict() == a_log("s").to_dict()


def test_a_bucket_with_a_self_signed_certificate_is_refused(authority, self_signed, monkeypatch):
    """The error is one sentence, also when another authority is named."""
    with SecureS3(self_signed) as server:
        for bundle in (None, str(authority.file)):
            if bundle is not None:
                monkeypatch.setenv("AWS_CA_BUNDLE", bundle)
            with pytest.raises(StorageError) as refused:
                s3_store(server, monkeypatch).list()
            assert str(refused.value) == (
                f"s3://logs/leftoff at {server.url}: the server's certificate could not be verified. "
                "Fix it there, or name its authority in AWS_CA_BUNDLE."
            )


def dsn(proxy, host=tls.NAME):
    """A database under the name of another machine, which needs a certificate; the address is this machine's."""
    return f"host={host} hostaddr=127.0.0.1 port={proxy.port}"


@pytest.fixture
def database(postgres, monkeypatch):
    monkeypatch.delenv("PGHOST")
    return postgres


def test_a_database_with_a_certificate_of_a_named_authority_is_accepted(
    database, authority, certificate, monkeypatch
):
    """``PGSSLROOTCERT`` or ``sslrootcert`` names the authority."""
    with tls.TlsProxy(database.port, certificate) as proxy:
        named = PostgresStore(f"{dsn(proxy)} sslrootcert={authority.file}")
        named.save(a_log("over-tls"))
        monkeypatch.setenv("PGSSLROOTCERT", str(authority.file))
        store = PostgresStore(dsn(proxy))
        assert store.load("over-tls").to_dict() == a_log("over-tls").to_dict()
        assert store.delete("over-tls") is True
        assert (proxy.seen, proxy.plain) == (2, 0)
        del named, store  # they close their connections


@pytest.mark.parametrize("ssl_option", ["", "sslmode=disable", "sslmode=require"])
def test_a_database_with_a_self_signed_certificate_is_refused(
    database, authority, self_signed, monkeypatch, ssl_option
):
    """Whatever the dsn says, the password is never sent."""
    with tls.TlsProxy(database.port, self_signed) as proxy:
        for named in ("", f"sslrootcert={authority.file}"):
            with pytest.raises(StorageError) as refused:
                PostgresStore(f"{dsn(proxy)} {ssl_option} {named}").list()
            assert re.fullmatch(
                r"PostgreSQL: the server's certificate could not be verified\. Name its authority in PGSSLROOTCERT, .*\.",
                str(refused.value),
            )
        assert proxy.plain == 0


def test_a_database_with_another_name_in_its_certificate_is_refused(database, authority, certificate):
    """The certificate is sound, and another server's."""
    with tls.TlsProxy(database.port, certificate) as proxy:
        store = PostgresStore(f"{dsn(proxy, 'other.example.test')} sslrootcert={authority.file}")
        with pytest.raises(StorageError, match="certificate could not be verified"):
            store.list()


def test_a_database_without_encryption_is_refused(database):
    """The server is addressed by a name that is not this machine's."""
    store = PostgresStore(f"host={tls.NAME} hostaddr=127.0.0.1 port={database.port}")
    with pytest.raises(StorageError, match="the server offers no encryption"):
        store.list()
