"""Sources of evidence: trace backends and the agent's own page, all written to the same canonical logs."""
