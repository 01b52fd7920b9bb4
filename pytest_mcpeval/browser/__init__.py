"""Visit web pages: find a browser, lease a slot, go through the steps, keep artifacts."""
