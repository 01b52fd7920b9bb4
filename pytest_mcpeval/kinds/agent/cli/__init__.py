"""Commands of the console script about agents."""
