"""Text to tokens: estimators, tokenizer, calibration; windows and prices; what is reported, predicted and believed."""
