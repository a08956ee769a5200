"""What the agent is put through: one module per route, each builder one set of twins.

A builder takes the cast, a random source and the kind of twin that it is to write. Twins share
the cast and the draws, and differ where the kind says so.
"""
