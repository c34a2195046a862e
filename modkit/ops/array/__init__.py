"""Shapes, order and indexing: reshape, transpose, slice, concat, gather, sort, reduce."""
