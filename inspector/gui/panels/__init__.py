"""The panels, one folder for each panel or family of panels. Each shows the State and passes actions to the
workbench.
"""
