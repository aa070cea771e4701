"""The headline figures of the five papers, measured anew: one module per paper, run by bench/papers.py."""
