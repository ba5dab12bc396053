"""Control-flow merges: joins of states, generalization of keys, and limits of unrolling."""
