"""The tiers of the policy: what they would do, their settings, what they need."""
