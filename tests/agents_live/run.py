"""Run the scenarios against the real agents and print a table of scenarios and clients.

A scenario that did not run counts as failed. The last line is `N passed, N failed`; the exit code is 1 when anything failed.
A few failed scenarios are run once more, one at a time, because clients that run side by side share few cores; those that
then pass are reported as `ok, alone`.
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

PARALLEL_JOBS = (os.cpu_count() or 1) + 1  # clients often wait for the disk or for a timeout
# Started first, so that they do not run alone at the end.
LONGEST_SCENARIOS = (
    "twenty_compactions",
    "broken_environment",
)
MAX_RETRIES = 5  # more failures than this are not caused by a busy machine
Job = tuple[Scenario, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    scenario: str
    client: str
    seconds: float
    error: str
    """The traceback; empty when the scenario passed."""


def main() -> int:
    options = arguments()
    scenarios = all_scenarios()
    if options.list:
        print_line(
            "\n".join(f"{each.name:32}{', '.join(each.clients):15}{each.fact}" for each in scenarios.values())
        )
        return 0
    unknown = [name for name in options.names if name not in scenarios]
    if unknown:
        print_line(f"no such scenario: {', '.join(unknown)}. --list shows them.")
        return 2
    picked = [scenarios[name] for name in options.names] if options.names else list(scenarios.values())
    jobs = [(each, name) for each in picked for name in each.clients if options.client in {None, name}]
    jobs.sort(key=lambda job: job[0].name not in LONGEST_SCENARIOS)
    passed = passed_jobs(run_all(jobs, options.keep), "ok")
    failed = [(each, name) for each, name in jobs if (each.name, name) not in passed]
    if 0 < len(failed) <= MAX_RETRIES:
        passed |= passed_jobs(run_all(failed, options.keep, parallel_jobs=1), "ok, alone")
    print_line(
        f"\n{format_table(picked, jobs, passed)}\n\n{len(passed)} passed, {len(jobs) - len(passed)} failed"
    )
    return 0 if jobs and len(passed) == len(jobs) else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", metavar="SCENARIO", help="only these; all when none is named")
    parser.add_argument("--client", choices=sorted(AGENTS), help="only this client")
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep transcripts and what the API received of them"
    )
    parser.add_argument("--list", action="store_true", help="list the scenarios, run none")
    return parser.parse_args()


def passed_jobs(outcomes: Iterator[Outcome], status: str) -> dict[tuple[str, str], str]:
    """Return the status of each scenario and client that passed."""
    return {(each.scenario, each.client): status for each in outcomes if not each.error}


def run_all(jobs: Sequence[Job], keep: Path | None, parallel_jobs: int = PARALLEL_JOBS) -> Iterator[Outcome]:
    with ThreadPoolExecutor(parallel_jobs) as pool:
        for done in as_completed([pool.submit(run_job, each, name, keep) for each, name in jobs]):
            print_line(format_outcome(done.result()))
            yield done.result()


def run_job(picked: Scenario, client: str, keep: Path | None) -> Outcome:
    """Run one scenario with one client; an exception becomes the outcome's error."""
    agent, started, error = AGENTS[client], time.monotonic(), ""
    try:
        clients.ensure_installed(client)
        started = time.monotonic()  # without the time for downloading the client
        with Sandbox(agent, keep_folder=keep) as sandbox:
            picked.check(agent, sandbox)
    except Exception:  # noqa: BLE001 - a scenario may fail in any way, and the others must still run
        error = traceback.format_exc().strip()
    return Outcome(scenario=picked.name, client=client, seconds=time.monotonic() - started, error=error)


def format_outcome(outcome: Outcome) -> str:
    status = "FAILED" if outcome.error else "ok"
    error = f"\n    {outcome.error}".replace("\n", "\n    ") if outcome.error else ""
    return f"{status:7}{outcome.scenario} [{outcome.client}] {outcome.seconds:.1f} s{error}"


def format_table(
    picked: Sequence[Scenario], jobs: Sequence[Job], passed: Mapping[tuple[str, str], str]
) -> str:
    """Return the table; a scenario that was due and did not pass has FAILED, `-` means that it is not for this client."""
    cells = {(each.name, client): passed.get((each.name, client), "FAILED") for each, client in jobs}
    rows = [["scenario", *AGENTS]]
    rows += [[each.name, *(cells.get((each.name, client), "-") for client in AGENTS)] for each in picked]
    return "\n".join("".join(f"{cell:32}" for cell in row).rstrip() for row in rows)


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
