"""Commands of the console script about sessions."""
