"""Runs the scenarios against the real agents and prints a table of scenarios and clients.

Promises: a scenario that did not run is a failure; the last line is `N passed, N failed`; exit 1 when anything failed. One that
failed beside others is run once more on its own, because two clients share few cores: what then holds is told as `ok, alone`.
"""

import argparse
import os
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import clients
from sandbox import Sandbox
from scenario import AGENTS, Scenario, all_scenarios

AT_ONCE = (os.cpu_count() or 1) + 1  # clients do not always compute
LONGEST = ("twenty_compactions", "harmless")  # begun first, so that at the end nobody waits for them
MOST_AGAIN = 5  # more at once are no accident
Job = tuple[Scenario, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    scenario: str
    client: str
    seconds: float
    trouble: str
    """Empty when the fact held."""


def main() -> int:
    options = arguments()
    scenarios = all_scenarios()
    if options.list:
        say(
            "\n".join(f"{each.name:18}{', '.join(each.clients):15}{each.fact}" for each in scenarios.values())
        )
        return 0
    unknown = [name for name in options.names if name not in scenarios]
    if unknown:
        say(f"no such scenario: {', '.join(unknown)}. --list shows them.")
        return 2
    picked = [scenarios[name] for name in options.names] if options.names else list(scenarios.values())
    jobs = [(each, name) for each in picked for name in each.clients if options.client in {None, name}]
    jobs.sort(key=lambda job: job[0].name not in LONGEST)
    passed = held(run_all(jobs, options.keep), "ok")
    failed = [(each, name) for each, name in jobs if (each.name, name) not in passed]
    if 0 < len(failed) <= MOST_AGAIN:
        passed |= held(run_all(failed, options.keep, at_once=1), "ok, alone")
    say(f"\n{table(picked, jobs, passed)}\n\n{len(passed)} passed, {len(jobs) - len(passed)} failed")
    return 0 if jobs and len(passed) == len(jobs) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help="only these; all when none is named")
    parser.add_argument("--client", choices=sorted(AGENTS), help="only this client")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep transcripts and what the API received of them"
    )
    parser.add_argument("--list", action="store_true", help="name the scenarios with their facts, run none")
    return parser.parse_args()


def held(outcomes: Iterator[Outcome], words: str) -> dict[tuple[str, str], str]:
    return {(each.scenario, each.client): words for each in outcomes if not each.trouble}


def run_all(jobs: Sequence[Job], keep: Path | None, at_once: int = AT_ONCE) -> Iterator[Outcome]:
    with ThreadPoolExecutor(at_once) as pool:
        for done in as_completed([pool.submit(attempt, each, name, keep) for each, name in jobs]):
            say(line(done.result()))
            yield done.result()


def attempt(picked: Scenario, client: str, keep: Path | None) -> Outcome:
    """One scenario with one client; whatever goes wrong is its outcome."""
    agent, started, trouble = AGENTS[client], time.monotonic(), ""
    try:
        clients.ensure(client)
        started = time.monotonic()  # fetching a client is no part of the scenario
        with Sandbox(agent, keep_folder=keep) as sandbox:
            picked.check(agent, sandbox)
    except Exception:  # noqa: BLE001 - a scenario may fail in any way, and the others must still run
        trouble = traceback.format_exc().strip()
    return Outcome(scenario=picked.name, client=client, seconds=time.monotonic() - started, trouble=trouble)


def line(outcome: Outcome) -> str:
    words = "FAILED" if outcome.trouble else "ok"
    trouble = f"\n    {outcome.trouble}".replace("\n", "\n    ") if outcome.trouble else ""
    return f"{words:7}{outcome.scenario} [{outcome.client}] {outcome.seconds:.1f} s{trouble}"


def table(picked: Sequence[Scenario], jobs: Sequence[Job], passed: Mapping[tuple[str, str], str]) -> str:
    """A scenario that was due and did not pass has failed, for whatever reason; `-` stands where none was due."""
    cells = {(each.name, client): passed.get((each.name, client), "FAILED") for each, client in jobs}
    rows = [["scenario", *AGENTS]]
    rows += [[each.name, *(cells.get((each.name, client), "-") for client in AGENTS)] for each in picked]
    return "\n".join("".join(f"{cell:32}" for cell in row).rstrip() for row in rows)


def say(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
