"""Dialogs about a proxy: the choice of the provider, which is stored, and the lines that connect a client.

The lines are exact and ready to copy. Each client has a page, which also lists the client's side effects.
"""

from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QIntValidator, QResizeEvent
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QFrame,
    QGridLayout,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QWidget,
)

from inspector.core.errors import InspectorError
from inspector.gui.dialogs.form import FormDialog, fields, new_record, path_field
from inspector.gui.guard import Guarded
from inspector.gui.look.build import button, column, holding, line_field, row, scrolled
from inspector.gui.look.fonts import mono_font
from inspector.gui.look.labels import label
from inspector.gui.look.tokens import (
    BOX_GAP,
    CHIP_GAP,
    CONTROL_GAP,
    DIALOG_GAP,
    DIALOG_INSETS,
    GAP,
    LINE_GAP,
)
from inspector.gui.settings import Settings
from inspector.gui.widgets.chips import Chips
from inspector.proxy.clients import ClientSetup, Snippet, connections, new_tag
from inspector.proxy.live_proxy import SIMULATED
from inspector.proxy.relay.upstreams import AUTOMATIC, HOSTS
from inspector.safety.keys import address_trouble

COPY, COPIED = "Copy", "Copied"
ADDRESS = "an address"
PROVIDERS = (
    (
        AUTOMATIC,
        "Forwards each request, with the client's key, to the provider whose API it calls: Anthropic, OpenAI or "
        "Gemini. For any other server choose an address, or its key goes to one of these three.",
    ),
    *((name, f"Forwards to {url}; the client brings its key.") for name, url in HOSTS.items()),
    (SIMULATED, "A simulated provider on this machine with the real protocols: no key, no cost."),
    (
        ADDRESS,
        "Any server: a gateway, a local model, a company's endpoint. Request paths are forwarded unchanged.",
    ),
)


class ProxyDialog(FormDialog):
    """Asks for provider, recording and port. `wanted` holds them once the dialog was accepted."""

    def __init__(self, parent: QWidget | None, settings: Settings) -> None:
        super().__init__(parent, "Watch an agent", "Listen")
        self.setMinimumWidth(600)
        self._settings = settings
        self.wanted: tuple[str, Path, int] | None = None
        stored = settings.text("proxy/upstream", AUTOMATIC)
        stored = AUTOMATIC if address_trouble(stored) else stored  # stored by an earlier version
        self._kind = stored if stored in dict(PROVIDERS) else ADDRESS
        self.chips = Chips("Provider", PROVIDERS)
        self.chips.chosen.connect(self._choose)
        named = stored if self._kind == ADDRESS else ""
        self.address = line_field(
            "Address of the provider", named, "https://gateway.example.com/anthropic"
        )
        self.note = label(role="quiet", wrap=True)
        self.record, beside = path_field(
            new_record("recordings", "proxy"), "Recording", self._choose_record
        )
        self.port = line_field("Port", settings.text("proxy/port"), "any free one")
        self.port.setValidator(QIntValidator(0, 65_535, self))
        grid = fields(
            (label("Provider", role="quiet"), self.chips),
            (label(), self.note),
            (label(), self.address),
            (label("Recording", role="quiet"), beside),
            (label("Port", role="quiet"), self.port),
        )
        says = (
            "A reverse proxy on this machine, between an agent and its provider. It changes nothing "
            "unless you hold a request and edit it. Keys pass through and are not recorded."
        )
        self.lay_out(says, grid, self.trouble, ..., gap=GAP)
        self.chips.select(self._kind)
        self._choose(self._kind)

    def _choose(self, kind: str) -> None:
        self._kind = kind
        self.address.setVisible(kind == ADDRESS)
        self.note.setText(dict(PROVIDERS)[kind])

    def _choose_record(self, now: str) -> str:
        # An existing recording is continued, not replaced.
        continued = QFileDialog.Option.DontConfirmOverwrite
        return QFileDialog.getSaveFileName(
            self, "Recording", now, "Recordings (*.jsonl)", options=continued
        )[0]

    def _accept(self) -> None:
        upstream = self.address.text().strip() if self._kind == ADDRESS else self._kind
        record = self.record.text().strip()
        trouble = "Type the provider's address." if not upstream else address_trouble(upstream)
        if trouble or not record:
            self.refuse(trouble or "Choose a file for the recording.")
            return
        self._settings.keep_text("proxy/upstream", upstream)
        self._settings.keep_text("proxy/port", self.port.text())
        self.wanted = (upstream, Path(record).expanduser().absolute(), int(self.port.text() or 0))
        self.accept()


class ConnectDialog(QDialog):
    """Shows how to connect a client, one client per page."""

    def __init__(self, parent: QWidget | None, url: str) -> None:
        super().__init__(parent)
        self.setWindowTitle("Connect a client")
        self.resize(860, 560)
        self._url = url
        self.clients = QListWidget()
        self.clients.setAccessibleName("Clients")
        self.clients.setMaximumWidth(190)
        self.clients.setSpacing(BOX_GAP)
        about = (
            "Optional. The tag becomes part of the address, so that the recording can separate this "
            "start of the client from others."
        )
        self.tag = line_field("Tag of this client", new_tag(), about=about)
        self.tag.setMaximumWidth(150)
        again = button("New tag", lambda: self.tag.setText(new_tag()))
        self.trouble = label(role="bad")
        self.page = scrolled(QWidget())
        self._setups: tuple[ClientSetup, ...] = connections(url)
        self.clients.addItems([setup.title for setup in self._setups])
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        tag = row(label("Tag of this client", role="quiet"), self.tag, again, self.trouble, ...)
        middle = row(self.clients, (column(tag, (self.page, 1)), 1), gap=DIALOG_GAP)
        column((middle, 1), buttons, of=self, margins=DIALOG_INSETS)
        self.tag.textChanged.connect(self._renew)
        self.clients.currentRowChanged.connect(self._show)
        self._renew()
        self.clients.setCurrentRow(0)

    def _renew(self) -> None:
        try:
            self._setups = connections(self._url, self.tag.text().strip())
            self.trouble.clear()
        except InspectorError as failure:
            self.trouble.setText(str(failure))
            return
        self._show(self.clients.currentRow())

    def _show(self, at: int) -> None:
        if 0 <= at < len(self._setups):
            self.page.setWidget(_page(self._setups[at]))


def _page(setup: ClientSetup) -> QWidget:
    page = column(
        label(setup.title, role="strong"), margins=(0, CHIP_GAP, GAP, CHIP_GAP), gap=CHIP_GAP
    )
    tried = f" · tested with {setup.tried}" if setup.tried else ""
    page.addWidget(
        label(f"Talks to {setup.speaks}: the proxy must forward there{tried}.", role="quiet")
    )
    for snippet in setup.snippets:
        page.addSpacing(BOX_GAP)
        page.addWidget(_snippet(snippet))
    if setup.effects:
        page.addSpacing(CONTROL_GAP)
        page.addWidget(label("WHAT CHANGES BEHIND A PROXY, AND HOW TO PREVENT IT", role="caption"))
    for effect in setup.effects:
        page.addWidget(label(f"• {effect.what}", wrap=True))
        if effect.against:
            page.addWidget(label(f"   → {effect.against}", role="good", wrap=True))
    page.addStretch()
    return holding(page)


def _snippet(snippet: Snippet) -> QWidget:
    def copied() -> None:
        QGuiApplication.clipboard().setText(snippet.text)
        copy.setText(COPIED)

    copy = button(COPY, copied)
    copy.setAccessibleName(f"{COPY}: {snippet.where}")
    text = _Lines(snippet.text.rstrip("\n"))
    text.setAccessibleName(snippet.where)
    return holding(column(row(label(snippet.where, role="quiet"), ..., copy), text, gap=LINE_GAP))


class _Lines(Guarded, QPlainTextEdit):
    """Text to be copied. The widget is as high as its lines."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setReadOnly(True)
        self.setObjectName("RunText")
        self.setFont(mono_font())
        for bar in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            bar(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Fit the height to the lines, which wrap differently at another width."""
        super().resizeEvent(event)
        block = self.document().firstBlock()
        height = 0.0
        while block.isValid():
            height += self.blockBoundingRect(block).height()
            block = block.next()
        self.setFixedHeight(round(height + 2 * self.document().documentMargin()) + 12)


class ClientLines(QScrollArea):
    """One line per client to connect it. “Connect a client…” has the details of each."""

    def __init__(self) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName("Lines that point a client here")
        self.copies: dict[str, QPushButton] = {}
        self._url = ""

    def show_url(self, url: str) -> None:
        """Show the lines for the proxy's address."""
        if url == self._url:
            return
        self._url = url
        self.copies.clear()
        page = QWidget()
        grid = QGridLayout()
        grid.setColumnStretch(1, 1)
        grid.setVerticalSpacing(6)
        for line, setup in enumerate(connections(url)):
            text = setup.snippets[0].text.rstrip("\n")
            lines = label(text, wrap=True)
            lines.setFont(mono_font())
            self.copies[setup.name] = copy = button(
                COPY, partial(self._copy, setup.name, text), about=setup.snippets[0].where
            )
            copy.setAccessibleName(f"{COPY}: {setup.title}")
            name = QWidget()
            where = label(setup.snippets[0].where, role="small")
            column(..., label(setup.title, role="strong"), where, ..., of=name, gap=0)
            for index, widget in enumerate((name, lines, copy)):
                grid.addWidget(widget, line, index)
        column(
            label("No request has arrived yet. Start an agent with its line:", role="quiet"),
            grid,
            ...,
            of=page,
            margins=(0, 0, 14, 0),  # the scroll bar is drawn over the page
            gap=CONTROL_GAP,
        )
        self.setWidget(page)

    def _copy(self, name: str, text: str) -> None:
        QGuiApplication.clipboard().setText(text)
        for other, copy in self.copies.items():
            copy.setText(COPIED if other == name else COPY)
