"""Long files and outputs for the bundled story, made from templates: a session without them would not fill a window.

Everything is the same every time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from string import Template

RESOURCES: Mapping[str, str] = {
    "order": "orders",
    "customer": "customers",
    "product": "products",
    "invoice": "invoices",
    "shipment": "shipments",
    "refund": "refunds",
    "quote": "quotes",
    "supplier": "suppliers",
}
_REFUSALS: dict[str, str] = {"401": "No key, or not a valid one", "404": "Not found", "409": "Conflict"}
_KEYS = ("k_7f3a", "k_2c19", "k_b04e", "k_91d7", "k_e5a2", "k_3360")
_FIELDS = ("[client_reference]", "[total_minor]", "[currency]")
_WORKER_PORTS = (41_822, 41_836, 41_850, 41_866)
_AGENTS = ("northwind-importer/2.1", "python-httpx/0.27", "okhttp/4.12", "Shopkeeper/9 (sync)", "curl/8.5.0")


def inserts() -> Mapping[str, Callable[[str], str]]:
    """Return every insert that the story may use by name."""
    return {
        "routes": lambda one: _from_template("routes", one),
        "tests": lambda one: _from_template("tests", one),
        "models": lambda _: _models(),
        "schemas": lambda _: _schemas(),
        "openapi": _openapi,
        "access-log": _access_log,
        "service-log": _service_log,
        "verbose-tests": lambda ones: _verbose_tests(ones.split() or list(RESOURCES)),
        "redis-monitor": lambda count: _redis_monitor(int(count)),
        "dots": lambda count: _dots(int(count)),
        "load-trace": _load_trace,
        "bench-trace": _bench_trace,
        "lockfile": lambda count: _lockfile(int(count)),
        "secret": lambda _: secret(),
    }


def secret() -> str:
    """Return the invented token that one command of the story prints; built here, so that no secret scanner finds it."""
    return "_".join(("ghp", "Inv3ntedForTheDemo" + "0nlyN0tARealTok3n0"))


def text(name: str) -> str:
    """Return the text of a file in ``data``."""
    return (Path(__file__).parent / "data" / f"{name}.txt").read_text(encoding="utf-8")


def _from_template(name: str, one: str) -> str:
    many = RESOURCES[one]
    return (
        Template(text(name)).substitute(one=one, many=many, One=one.title(), Many=many.title()).rstrip("\n")
    )


def _models() -> str:
    head = (
        '"""Tables. Columns are added by migrations/, which the data team owns; this file follows."""\n\n'
        "from __future__ import annotations\n\nfrom datetime import datetime\n\n"
        "from sqlalchemy import BigInteger, ForeignKey, Index, String\n"
        "from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column\n\n\n"
        "class Base(DeclarativeBase):\n    pass\n"
    )
    return head + "".join(_model(one, many) for one, many in RESOURCES.items()).rstrip("\n")


def _model(one: str, many: str) -> str:
    name = one.title()
    return f'''

class {name}(Base):
    """One {one} of one partner."""

    __tablename__ = "{many}"
    __table_args__ = (
        Index("ix_{many}_partner_created", "partner_id", "created_at"),
        Index("ux_{many}_reference", "partner_id", "client_reference", unique=True),
    )

    id: Mapped[str] = mapped_column(String(26), primary_key=True)
    partner_id: Mapped[str] = mapped_column(String(26), index=True)
    client_reference: Mapped[str] = mapped_column(String(64))
    state: Mapped[str] = mapped_column(String(20), default="draft")
    month: Mapped[str] = mapped_column(String(7))
    total_minor: Mapped[int] = mapped_column(BigInteger, default=0)
    currency: Mapped[str] = mapped_column(String(3))
    note: Mapped[str | None] = mapped_column(String(500))
    cancel_reason: Mapped[str | None] = mapped_column(String(200))
    version: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[datetime]

    @classmethod
    def new(cls, *, partner_id: str, **values: object) -> {name}:
        now = utcnow()
        return cls(id=new_id(), partner_id=partner_id, created_at=now, month=f"{{now:%Y-%m}}", **values)


class {name}Event(Base):
    """What happened to a {one}; rows are never changed."""

    __tablename__ = "{one}_events"

    id: Mapped[str] = mapped_column(String(26), primary_key=True, default=new_id)
    {one}_id: Mapped[str] = mapped_column(ForeignKey("{many}.id"), index=True)
    kind: Mapped[str] = mapped_column(String(30))
    actor: Mapped[str] = mapped_column(String(26))
    at: Mapped[datetime] = mapped_column(default=utcnow)
'''


def _schemas() -> str:
    head = '"""What goes over the wire."""\n\nfrom __future__ import annotations\n\nfrom pydantic import BaseModel, Field\n'
    return head + "".join(_schema(one) for one in RESOURCES).rstrip("\n")


def _schema(one: str) -> str:
    name = one.title()
    return f"""

class {name}In(BaseModel):
    client_reference: str = Field(min_length=1, max_length=64, examples=["po-2026-0117"])
    total_minor: int = Field(ge=0, description="In the smallest unit of the currency.")
    currency: str = Field(pattern=r"^[A-Z]{{3}}$")
    note: str | None = Field(default=None, max_length=500)
    lines: list[Line] = Field(default_factory=list, max_length=200)


class {name}Patch(BaseModel):
    version: int
    note: str | None = None
    state: str | None = None

    def changes(self) -> dict[str, object]:
        return self.model_dump(exclude_unset=True, exclude={{"version"}})


class {name}Out({name}In):
    id: str
    state: str
    version: int
    created_at: str

    @classmethod
    def of(cls, row: {name}) -> {name}Out:
        return cls.model_validate(row, from_attributes=True)


class {name}Stats(BaseModel):
    month: str
    by_state: dict[str, tuple[int, int]]
    total_minor: int
"""


def _openapi(argument: str) -> str:
    """Return the document of ``[429] [RESOURCE...]``: of these resources or all, with or without the rate limiter's refusal."""
    given = argument.split()
    refusals = _REFUSALS | (
        {"429": "Too many requests; Retry-After says when to come back"} if "429" in given else {}
    )
    paths: dict[str, object] = {}
    for one in [word for word in given if word in RESOURCES] or RESOURCES:
        paths |= _paths(one, RESOURCES[one], refusals)
    document = {"openapi": "3.1.0", "info": {"title": "orders-api", "version": "4.11.0"}, "paths": paths}
    return json.dumps(document, indent=2)


def _paths(one: str, many: str, refusals: Mapping[str, str]) -> dict[str, object]:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    good = {"application/json": {"schema": {"$ref": f"#/components/schemas/{one.title()}Out"}}}
    answers = {"200": {"description": "OK", "content": good}}
    answers |= {code: {"description": why, "content": problem} for code, why in refusals.items()}
    body = {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{one.title()}In"}}}}
    ident = [
        {"name": f"{one}_id", "in": "path", "required": True, "schema": {"type": "string", "maxLength": 26}}
    ]
    return {
        f"/{many}": {
            "get": {"operationId": f"list_{many}", "tags": [many], "responses": answers},
            "post": {
                "operationId": f"create_{one}",
                "tags": [many],
                "requestBody": body,
                "responses": answers,
            },
        },
        f"/{many}/{{{one}_id}}": {
            "get": {"operationId": f"get_{one}", "parameters": ident, "responses": answers},
            "patch": {
                "operationId": f"change_{one}",
                "parameters": ident,
                "requestBody": body,
                "responses": answers,
            },
        },
        f"/{many}/{{{one}_id}}/cancel": {
            "post": {"operationId": f"cancel_{one}", "parameters": ident, "responses": answers},
        },
    }


def _access_log(argument: str) -> str:
    """Return ``COUNT [others]`` lines: one partner's flood of requests, or those of all others in the same hour."""
    count, _, others = argument.partition(" ")
    rng = Random(f"access log {argument}")
    return "\n".join((_other_line if others else _flood_line)(rng, number) for number in range(int(count)))


def _flood_line(rng: Random, number: int) -> str:
    key = _KEYS[0] if rng.random() < 0.95 else rng.choice(_KEYS)
    status, took = (502, 30_000) if rng.random() < 0.6 else (201, rng.randrange(1_800, 29_000))
    at = f"10:17:{41 + number // 237:02}.{number * 4 % 1_000:03}"
    return _log_line(rng, at, "POST /orders", key, f"{status} {took}ms")


def _other_line(rng: Random, number: int) -> str:
    key = _KEYS[1] if rng.random() < 0.6 else rng.choice(_KEYS[1:])
    verb, many = rng.choice(("POST", "PATCH")), rng.choice(tuple(RESOURCES.values()))
    at = f"10:{number // 95:02}:{number * 60 // 95 % 60:02}.{rng.randrange(1_000):03}"
    return _log_line(
        rng, at, f"{verb} /{many}", key, f"{201 if verb == 'POST' else 200} {rng.randrange(8, 90)}ms"
    )


def _log_line(rng: Random, at: str, request: str, key: str, result: str) -> str:
    agent = _AGENTS[_KEYS.index(key) % len(_AGENTS)]
    ident = f"{rng.getrandbits(48):012x}"
    return f'2026-03-09T{at}Z api-{rng.randrange(1, 5)} {request} {result} key={key} req={ident} "{agent}"'


def _service_log(argument: str) -> str:
    """Return ``COUNT HOUR`` lines: what the API logged from that hour on."""
    count, hour = argument.split()
    rng = Random(f"service log {argument}")
    return "\n".join(
        json.dumps(
            {
                "at": f"2026-03-12T{hour}:{number // 20 % 60:02}:{number * 3 % 60:02}Z",
                "level": "info",
                "worker": rng.randrange(1, 5),
                "event": rng.choice(
                    ("request", "db.commit", "publish", "ratelimit.allowed", "ratelimit.blocked")
                ),
                "path": f"/{rng.choice(tuple(RESOURCES.values()))}/{rng.getrandbits(40):010x}",
                "took_ms": rng.randrange(2, 240),
                "request_id": f"{rng.getrandbits(48):012x}",
            }
        )
        for number in range(int(count))
    )


def _verbose_tests(ones: list[str]) -> str:
    names = re.findall(r"^async def (test_[\w$]+)", text("tests"), re.MULTILINE)
    tests = [
        f"tests/test_{RESOURCES[one]}.py::{name.replace('$one', one)}{field} PASSED"
        for one in ones
        for name in names
        for field in (_FIELDS if "field" in name else ("",))
    ]
    return "\n".join(f"{test:<88}[{(at + 1) * 100 // len(tests):3}%]" for at, test in enumerate(tests))


def _redis_monitor(count: int) -> str:
    rng = Random("monitor")
    lines = []
    at = 1_773_280_262.204  # while the load test of the story runs
    for _ in range(count):
        at += rng.random() / 1_000
        port = rng.choice(_WORKER_PORTS)
        lines.append(
            f'{at:.6f} [0 172.19.0.4:{port}] "EVALSHA" "9c1f0d7be2" "1" "ratelimit:{{b7e20c55}}:write" "100" "60000"'
        )
    return "\n".join(lines)


def _dots(count: int) -> str:
    """Return what pytest prints for so many passed tests."""
    width = 72
    shown = ("." * min(width, count - first) for first in range(0, count, width))
    return "\n".join(
        f"{dots:<{width}} [{min(count, (at + 1) * width) * 100 // count:3}%]" for at, dots in enumerate(shown)
    )


def _load_trace(argument: str) -> str:
    """Return one line per second for ``SECONDS PER_SECOND P99_MS``."""
    seconds, rate, p99 = (int(word) for word in argument.split())
    rng = Random(f"load {argument}")
    return "\n".join(
        f"running ({second // 60}m{second % 60:04.1f}s), 64/64 VUs, {second * rate + rng.randrange(-60, 60)} complete and "
        f"0 interrupted iterations  p50={6 + p99 // 14}ms p95={p99 * 5 // 8}ms p99={p99 + rng.randrange(-3, 4)}ms"
        for second in range(1, seconds + 1)
    )


def _bench_trace(argument: str) -> str:
    """Return one line per second for ``SECONDS PER_SECOND P50_MS P99_MS``."""
    seconds, rate, p50, p99 = (int(word) for word in argument.split())
    rng = Random(f"bench {argument}")
    return "\n".join(
        f"{second:4}s  {rate + rng.randrange(-20, 21):6} checks  p50 {p50 + rng.randrange(-1, 2)} ms  "
        f"p99 {p99 + rng.randrange(-(p99 // 40) - 1, p99 // 40 + 2)} ms"
        for second in range(1, seconds + 1)
    )


def _lockfile(count: int) -> str:
    rng = Random("lock")
    names = ("annotated-types", "anyio", "asyncpg", "certifi", "click", "fastapi", "greenlet", "h11", "httpcore",
             "httptools", "httpx", "idna", "orjson", "prometheus-client", "pydantic", "pydantic-core", "redis",
             "sniffio", "sqlalchemy", "starlette", "structlog", "typing-extensions", "uvicorn", "uvloop")  # fmt: skip
    blocks = []
    for name in names[:count]:
        version = f"{rng.randrange(0, 5)}.{rng.randrange(0, 40)}.{rng.randrange(0, 9)}"
        wheels = "\n".join(
            f'    {{ file = "{name}-{version}-cp3{minor}-manylinux_2_17_x86_64.whl", '
            f'hash = "sha256:{rng.getrandbits(256):064x}", size = {rng.randrange(20_000, 3_000_000)} }},'
            for minor in (11, 12, 13)
        )
        blocks.append(f'[[package]]\nname = "{name}"\nversion = "{version}"\nwheels = [\n{wheels}\n]')
    return "\n\n".join(blocks)
