"""Many solves of one case: baselines now, comparisons and sensitivities later."""
