"""Carrying work out: requests are answered from the cache or a backend, jobs run side by side.

The engine knows requests, not criteria.
"""
