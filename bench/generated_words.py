"""Texts for generated sessions: names, sentences, code, logs and prompts, with gaps that ``generated_project.World`` fills."""

from __future__ import annotations

from typing import Final

PACKAGES: Final = (
    "harbor",
    "tallybook",
    "meridian",
    "lanternfish",
    "quayside",
    "millrace",
    "foxglove",
    "ballast",
)
NOUNS: Final = (
    "invoice", "shipment", "ledger", "voucher", "parcel", "tariff", "manifest", "payout", "consent", "booking",
    "quota", "refund", "audit", "catalog", "pricing", "courier", "dispute", "subscription", "webhook", "warehouse",
    "settlement", "customs", "roster", "pallet",
)  # fmt: skip
LAYERS: Final = ("service", "store", "routes", "policy", "importer", "report", "worker", "schema")
VERBS: Final = (
    "load", "merge", "settle", "reserve", "expire", "reconcile", "export", "validate", "split", "archive",
    "recompute", "assign", "release", "normalise", "collect", "publish", "retry", "schedule",
)  # fmt: skip
FIELDS: Final = (
    "amount_minor",
    "currency",
    "due_on",
    "reference",
    "status",
    "version",
    "owner_id",
    "created_at",
)

# The first ones are run most.
COMMANDS: Final = (
    "uv run pytest -q",
    "git status --short",
    "uv run mypy src/{package}",
    "git diff --stat",
    "uv run ruff check src tests",
    "docker compose logs --tail=200 worker",
    "git log --oneline -15",
    "tail -n 400 logs/worker.log",
)
LOG_COMMANDS: Final = (
    "docker compose logs --tail=200 worker",
    "tail -n 400 logs/worker.log",
    "uv run pytest -q",
)

MODULE_HEAD: Final = '''"""{Noun} {layer}: {verb} and keep what belongs to one {noun}."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from {package}.errors import Conflict, {Noun}NotFound
from {package}.store.{other}_store import {Other}Store

log = logging.getLogger(__name__)

MAX_{NOUN}_BATCH = {n}
'''

FUNCTIONS: Final = (
    '''def {function}(store: {Other}Store, {noun}_id: str, *, limit: int = {n}) -> {Noun}:
    """{Verb} one {noun}; raises {Noun}NotFound when the id is not known."""
    row = store.get({noun}_id)
    if row is None:
        raise {Noun}NotFound(f"{noun} {{{noun}_id}} is not known")
    if row.{field} is None and limit > {n}:
        log.warning("%s has no {field}, falling back to the {other}", {noun}_id)
        row = replace(row, {field}=store.default_{field}())
    return {Noun}.from_row(row, limit=limit)
''',
    '''async def {function}({noun}s: Iterable[{Noun}], clock: Clock) -> list[{Noun}]:
    """{Verb} every {noun} that is due, oldest first."""
    due = sorted((item for item in {noun}s if item.due_on <= clock.now()), key=lambda item: item.due_on)
    done: list[{Noun}] = []
    for item in due[:MAX_{NOUN}_BATCH]:
        try:
            done.append(await item.{verb}())
        except Conflict as exc:
            log.info("{noun} %s was changed meanwhile: %s", item.id, exc)
    return done
''',
    '''@dataclass(frozen=True, slots=True)
class {Noun}{Verb}Result:
    """What {function} found, and what it left alone."""

    {noun}_id: str
    {field}: int
    touched: tuple[str, ...] = ()
    skipped_because: str | None = None

    @property
    def changed(self) -> bool:
        return bool(self.touched) and self.skipped_because is None
''',
    '''def {function}(rows: Sequence[dict[str, object]], *, {field}: str = "{hex}") -> dict[str, int]:
    """Totals by {field}; rows without one are counted under "unknown"."""
    totals: dict[str, int] = {{}}
    for row in rows:
        bucket = str(row.get("{field}") or "unknown")
        totals[bucket] = totals.get(bucket, 0) + int(row.get("amount_minor", 0))
    if len(totals) > {n}:
        log.warning("{function}: %d buckets, the {other} report shows the first {n}", len(totals))
    return totals
''',
    '''class {Noun}{Verb}Policy:
    """When a {noun} may be handed to the {other}."""

    def __init__(self, window: timedelta = timedelta(minutes={n}), retries: int = 3) -> None:
        self.window = window
        self.retries = retries

    def allows(self, {noun}: {Noun}, at: datetime) -> bool:
        if {noun}.version < 2 or {noun}.owner_id is None:
            return False
        return at - {noun}.created_at <= self.window and {noun}.attempts < self.retries
''',
    '''def test_{function}_keeps_{field}(store: {Other}Store) -> None:
    """A {noun} keeps its {field} through {verb}."""
    before = store.add_{noun}({field}="{hex}", amount_minor={n})
    after = {function}(store, before.id)
    assert after.{field} == "{hex}"
    assert after.amount_minor == {n}
    assert store.events_of(before.id)[-1].kind == "{noun}.{verb}"
''',
)  # fmt: skip

# What an edit adds after a line, one step of work each.
GUARDS: Final = (
    'if {field} is None:\n    log.warning("%s has no {field}", {noun}_id)\n    return None',
    "# {other} has checked the version already, see `{function}`",
    'if limit > {n}:\n    raise ValueError(f"at most {n} {noun}s, not {{limit}}")',
    'log.info("{function} took %d ms", took_ms)',
    'with store.lock("{noun}", timeout_ms={ms}):\n    row = store.get({noun}_id)\n    version = row.version + 1',
    "assert version >= 2, version",
)

LOG_LINES: Final = (
    "{clock} INFO  {package}.{module} {function}: {n} {noun}s in {ms} ms (request {hex})",
    '{clock} INFO  access "POST /v2/{noun}s/{hex}/{verb} HTTP/1.1" 200 {n} {ms}ms',
    '{clock} INFO  access "GET /v2/{noun}s?owner={hex}&limit={n} HTTP/1.1" 200 {n} {ms}ms',
    "{clock} WARN  {package}.{module} {noun} {hex} was changed meanwhile, attempt {n} of 5",
    "{clock} DEBUG {package}.store.{other}_store SELECT * FROM {noun}s WHERE {field} = '{hex}' LIMIT {n} -- {ms} ms",
    '{clock} INFO  worker {{"job": "{verb}-{noun}", "id": "{hex}", "took_ms": {ms}, "left": {n}}}',
    "{clock} ERROR {package}.{module} {error}",
)
TEST_LINES: Final = (
    "test_{function}_keeps_{field}",
    "test_{function}_twice_is_once",
    "test_{function}_without_{other}",
)
ERRORS: Final = (
    "{Noun}NotFound: {noun} {hex} is not known to the {other} store",
    "Conflict: {noun} {hex} has version {n}, expected {n}1",
    "TypeError: {function}() missing 1 required keyword-only argument: '{field}'",
    "AssertionError: assert '{hex}' == 'unknown'",
    "ValueError: {field} must not be negative: -{n}",
    "KeyError: '{field}'",
    "TimeoutError: {other} did not answer within {ms} ms while {function} was running",
    "ImportError: cannot import name '{function}' from '{package}.{module}'",
)
TRACEBACK: Final = '''________________ test_{function}_keeps_{field} ________________

store = <{package}.store.{other}_store.{Other}Store object at 0x7f{hex}>

    def test_{function}_keeps_{field}(store):
        before = store.add_{noun}({field}="{hex}", amount_minor={n})
>       after = {function}(store, before.id)

{test_path}:{n}:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

>       raise {Noun}NotFound(f"{noun} {{{noun}_id}} is not known")
E       {error}

{path}:{n}: {Noun}NotFound
=========================== short test summary info ===========================
FAILED {test_path}::test_{function}_keeps_{field} - {error}'''  # fmt: skip

SENTENCES: Final = (
    "`{function}` in `{path}` is the only caller that passes {field} through.",
    "The {other} store already locks the row, so `{function}` must not take a second lock.",
    "If the {noun} has no {field}, the report shows it under unknown, which is what the test expects.",
    "I should read `{path}` again, because the earlier edit moved `{function}`.",
    "The failure `{error}` comes from the fixture, not from `{function}`.",
    "Running `{command}` first tells whether this was green before my change.",
    "Two ways: give `{function}` a default for {field}, or make the caller say it. The second one shows up in review.",
    "`{module}` imports the {other} schema at the top, and that is the cycle.",
    "The batch size {n} is in three places; the constant MAX_{NOUN}_BATCH is the one that counts.",
    "That means version {n} of the {noun} is written twice when {verb} is retried.",
    "A test for the empty {noun} list is still missing next to `{test_path}`.",
    "The {ms} ms in the log are the {other} query, not the {verb} step.",
)
TASKS: Final = (
    "Make `{function}` say which {field} it used",
    "Add a test for a {noun} without {field}",
    "Move MAX_{NOUN}_BATCH to the settings",
    "Take the second lock out of `{module}`",
    "Run `{command}` and read what it says",
    "Tell the {other} report about expired {noun}s",
)
HITS: Final = (
    "    row = {}(store, item.id)",
    "from .service import {}",
    "        done.append(await {}(batch, clock))",
    "    # {} has checked the version already",
    "def {}(store, ident, *, limit=100):",
)
PROMPTS: Final = (
    "`{function}` in `{path}` fails with `{error}` when the {noun} has no {field}. Find out why and fix it, with a test.",
    "Please add a `{field}` filter to `{function}`, and keep `{command}` green.",
    "The nightly {verb} of {noun}s takes {ms} ms per item. Where does the time go? Measure first, then change.",
    "Rename the {noun} helper in `{path}` so that it says what it does, and update every caller.",
    "Can you look at `{test_path}`? It is flaky since we changed the {other} store.",
    "go on",
    "Looks good. Now the same for {other}, and do not change `{path}` while you are at it.",
    "Why did you change `{function}`? I only asked for the {noun} part. Put that back, keep the test.",
    "We decided in review: {noun}s expire after {n} days, not {n}0. Update code, tests and the docstring.",
)
PROMPTS_CJK: Final = (
    "`{function}` で {noun} の `{field}` が空のとき `{error}` になります。原因を調べて、テストも追加してください。",
    "次は `{path}` をお願いします。既存のテストは変更しないでください。`{command}` が通ることを確認してから報告してください。",
    "请检查 `{path}`:{noun} 的导出在 {ms} 毫秒后超时。先测量,再修改,不要改动数据库结构。",
    "`{function}` 함수의 결과가 {noun}마다 다릅니다. 원인을 찾아서 고치고 `{command}` 로 확인해 주세요.",
)
REPLIES_CJK: Final = (
    "原因が分かりました。`{function}` は {field} を渡していませんでした。修正して `{command}` で確認します。",
    "已经找到原因:`{path}` 中的 `{function}` 每次都会重新查询。下面先修改,再运行测试。",
    "`{path}` 를 수정하고 `{command}` 를 다시 실행했습니다. 모두 통과합니다.",
)
RULES: Final = (
    "Never edit anything under db/schema/; the data team owns it.",
    "Every public function keeps its signature; callers outside this repository use them.",
    "Use the clock that is passed in, never the system's time.",
    "Do not add dependencies.",
    "Money is an integer of minor units, never a float.",
    "Commit messages are one line, in the imperative, without a ticket number.",
    "Never log an owner id in clear text.",
    "Tests run against a real database, not against a fake.",
)
# What the user wants at first, and what he wants instead later: only the second holds.
REVERSALS: Final = (
    (
        "Answer with 409 when two writers collide.",
        "Not 409 after all: retry a collision three times, then answer 503.",
    ),
    (
        "Keep exports for 30 days.",
        "Forget the 30 days: exports are kept for 7 days, legal was clear about it.",
    ),
    (
        "Use the blue queue for retries.",
        "Correction: retries go to the amber queue, the blue one is being retired.",
    ),
    (
        "Write dates as DD.MM.YYYY in reports.",
        "I changed my mind: reports use ISO dates, YYYY-MM-DD, everywhere.",
    ),
)
