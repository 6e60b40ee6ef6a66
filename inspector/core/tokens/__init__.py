"""Text to tokens: estimators, tokenizer, calibration, pressure, windows and prices."""
