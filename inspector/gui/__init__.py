"""The graphical window. Only this package imports Qt."""

import sys

import PySide6.QtCore  # noqa: F401  # brings the module below

_feature = sys.modules.get("shibokensupport.feature")
if hasattr(_feature, "_mod_uses_pyside"):
    # Otherwise PySide6 would read and keep the source of every imported module, only to see whether the module chooses
    # `snake_case` for Qt's names: a tenth of the start time, and the text of all packages in memory.
    setattr(_feature, "_mod_uses_pyside", lambda module: True)  # noqa: B010  # the module was checked and chose nothing
