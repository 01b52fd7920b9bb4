"""Commands of the console script about golden sets and their corpora."""
