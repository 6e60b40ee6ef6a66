"""Parts that any panel may use; they know nothing of sessions."""
