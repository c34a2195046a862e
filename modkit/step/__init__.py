"""The training step: bound graphs, lazy passes, the fused step, replicas, the parameters' store."""
