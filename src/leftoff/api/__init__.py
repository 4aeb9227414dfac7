"""The classes and functions that ``import leftoff`` offers to Python programs.

They adapt arguments and results; the work is done by the package of each feature.
"""
