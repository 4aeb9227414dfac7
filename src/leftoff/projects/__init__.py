"""The resume state of a project (001): ``_resume.md``, where its facts come from, and what a session is handed of it."""
