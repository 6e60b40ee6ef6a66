"""The panels of the policy's tiers: what they would do, their settings, and the model calls that they need."""
