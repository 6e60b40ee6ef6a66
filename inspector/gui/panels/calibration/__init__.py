"""How well the estimators are calibrated."""
