"""The thirty-second answer: three sentences, each with a way to more."""
