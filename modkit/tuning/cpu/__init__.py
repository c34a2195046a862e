"""Forms of operators that are faster on CPUs."""
