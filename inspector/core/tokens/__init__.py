"""Token counts: tokenizer and estimators, reported and predicted sizes, calibration and own counts, windows, prices."""
