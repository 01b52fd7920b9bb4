"""Small real systems to evaluate; nothing in the plugin imports them."""
