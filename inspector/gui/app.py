"""Start the window as a program: create settings, theme, fonts and window, and run until the window is closed."""

import logging
import signal
import sys
from collections.abc import Callable, Sequence

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from inspector.gui.calling import Calling
from inspector.gui.garbage import Garbage
from inspector.gui.guard import Trouble
from inspector.gui.look import fonts
from inspector.gui.look.theme import Theme
from inspector.gui.settings import Settings
from inspector.gui.window import MainWindow

GiveUp = Callable[[Sequence[str]], object]


def main(argv: Sequence[str] = (), give_up: GiveUp = lambda messages: None) -> int:
    """Open the window, and in it the transcript `argv[0]` if there is one.

    Args:
        argv: The arguments of the command line.
        give_up: Called with Qt's messages if Qt finds no screen. It must end the process, because Qt would abort it.

    Returns:
        The exit status.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl+C in the terminal ends the program at once
    logging.basicConfig(stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
    application = QApplication.instance() or _application(give_up)
    assert isinstance(application, QApplication)
    application.setApplicationName("context-inspector")
    application.setApplicationDisplayName("Context Inspector")
    application.setDesktopFileName("context-inspector")
    window = build(application, Settings())
    window.show()
    if argv:
        window.open_path(argv[0])
    return application.exec()


def _application(give_up: GiveUp) -> QApplication:
    messages: list[str] = []

    def take(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
        messages.append(message)
        if kind == QtMsgType.QtFatalMsg:
            give_up(messages)

    qInstallMessageHandler(take)
    application = QApplication(["context-inspector"])
    qInstallMessageHandler(None)
    if application.primaryScreen() is None:
        give_up(messages)
    for message in messages:
        sys.stderr.write(f"{message}\n")
    return application


def build(application: QApplication, settings: Settings) -> MainWindow:
    """Build a window that is ready to be shown and that reports unexpected failures."""
    fonts.load()
    calling = Calling()
    window = MainWindow(Theme(application, settings), settings, calling)
    application.aboutToQuit.connect(calling.close)
    # A pausing job would keep the process alive.
    application.aboutToQuit.connect(window.bridge.close)
    Garbage(window)
    Trouble(window.tell_trouble).install()
    return window
