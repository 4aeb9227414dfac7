"""The resume state of a project: ``_resume.md``, where its facts come from, and what a session is given of it.

The logs of single sessions are in ``resume_logs``.
"""
