"""Readers of transcript formats, one module or package per format. `detect.FORMATS` lists all formats."""
