"""The window: the only part that knows Qt."""

import sys

import PySide6.QtCore  # noqa: F401  # brings the module below

_feature = sys.modules.get("shibokensupport.feature")
if hasattr(_feature, "_mod_uses_pyside"):
    # From now on PySide6 would read the source of every module that anybody imports, only to see whether it may choose
    # `snake_case` for Qt's names, and keep it: a tenth of the start, and the text of all packages in memory.
    setattr(_feature, "_mod_uses_pyside", lambda module: True)  # noqa: B010  # "it may, and has chosen nothing"
