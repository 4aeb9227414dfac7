"""Where resume logs are kept: files, SQLite, PostgreSQL or S3; and the outbox of logs that wait for a remote store.

Stores save, load, list and delete whole logs. What is in a log is decided in ``resume_logs``.
"""
