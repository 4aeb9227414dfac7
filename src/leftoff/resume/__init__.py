"""Pick up where a session left off, also one of another machine; run an agent and follow it into its next session.

Logs are made in ``resume_logs``, and copies of sessions in ``shrink``.
"""
