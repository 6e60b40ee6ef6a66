"""Keys and addresses: where they come from, and what keeps them from getting out."""
