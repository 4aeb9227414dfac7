"""leftoff.catalogue"""
