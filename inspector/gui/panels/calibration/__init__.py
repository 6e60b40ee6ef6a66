"""The Calibration panel: how well the estimators agree with the reported tokens."""
