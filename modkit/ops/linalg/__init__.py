"""Matrix products, transforms, factorizations, triangular solves."""
