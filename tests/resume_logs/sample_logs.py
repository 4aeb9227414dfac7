"""Resume logs for the tests."""

from leftoff.core.metrics import ContextMetrics
from leftoff.core.provenance import Ground
from leftoff.core.resume_log import ResumeLog

PATH = "/p/.leftoff/resume-logs/session-s1.json"


def log(**fields):
    """Return a log with the given fields and nothing else."""
    metrics = ContextMetrics(total_budget=200_000, used_tokens=100_000, timestamp="2026-01-06T12:00:00Z")
    return ResumeLog(**({"session_id": "s1", "context_metrics": metrics} | fields))


def full(times=1):
    """Return a log with ``times`` items in every section."""
    many = range(12 * times)
    return log(
        mission_summary=(
            "The user first asked: “Add rate limiting”\n\nThe latest request: “only for anonymous callers”"
        ),
        accomplishments=[f"Done {n}: wrote part {n} of the limiter in src/part_{n}.py" for n in many],
        key_findings=[f"Found {n}: the bucket leaks {n} tokens when two workers refill it" for n in many],
        decisions=[{"decision": f"Decided {n}", "rationale": f"because of {n}"} for n in many],
        next_steps=[f"Step {n}: move the refill into the script" for n in many],
        critical_context={
            "pins": ["never push to main"],
            "user_rules": [
                "“use tabs” (superseded by: “use spaces”)",
                "“use spaces”",
                "“no new dependencies”",
            ],
            "files": {f"src/part_{n}.py": f"changed, {n} edits" for n in many},
            "commands": [f"`pytest tests/part_{n} -x` → passed" for n in many],
            "state": ["Not committed: `src/part_1.py`"],
            "where": {"project": "/p"},
        },
        ground=Ground(head="a" * 40, branch="feature/limits", worktree="tree"),
    )
