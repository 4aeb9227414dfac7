"""Invented sessions, told without any agent's words: the bundled one, and a generator of any size.

The demo, the benchmarks and the tests are made from them; an adapter's ``transcribe`` writes them as its agent would.
Everything here follows from its arguments: no clock, no file outside the package, no chance without a seed.
"""
