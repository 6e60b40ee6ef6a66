"""The pytest plugin: `--context-sessions DIR`, the fixtures `context_session` and `context_sessions`, the report.

pytest imports this file in every run of every project that has the program installed, so it loads nothing else until a
test asks for sessions.
"""

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from inspector.core.session import Session
    from inspector.testing.summary import Baseline

PROPERTY = "context-inspector: "
"""Prefix of the names of test properties; the session and the policy follow it."""
_SINGLE = "context_session"
_ROWS = pytest.StashKey[dict[str, str]]()
_BASELINE = pytest.StashKey["Baseline"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("context-inspector", "compaction policies on recorded sessions")
    group.addoption(
        "--context-sessions",
        metavar="DIR",
        action="append",
        default=[],
        help="transcripts to test with",
    )
    group.addoption(
        "--context-report", metavar="FILE", help="write the numbers of the replays as Markdown"
    )
    group.addoption(
        "--context-baseline",
        metavar="FILE",
        help="compare the report with the numbers of this file",
    )
    group.addoption(
        "--context-save-baseline", metavar="FILE", help="store the numbers for later runs"
    )


def find_transcripts(folders: list[str]) -> list[tuple[str, Path]]:
    """Return (name, path) of every file below the folders that is not hidden, in order. A path of a file is listed,
    too."""
    transcripts: list[tuple[str, Path]] = []
    for folder in map(Path, folders):
        if folder.is_file():
            transcripts.append((folder.name, folder))
        elif folder.is_dir():
            names = sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
            transcripts += [(str(name), folder / name) for name in names if not _is_hidden(name)]
        else:
            raise pytest.UsageError(f"--context-sessions: there is no file or folder {folder}.")
    return transcripts


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that has `context_session` once for each transcript."""
    if _SINGLE in metafunc.fixturenames:
        transcripts = find_transcripts(metafunc.config.getoption("--context-sessions"))
        metafunc.parametrize(
            _SINGLE,
            transcripts,
            indirect=True,
            ids=[name for name, _ in transcripts],
            scope="session",
        )


@pytest.fixture(scope="session")
def context_session(request: pytest.FixtureRequest) -> "Session":
    """One recorded session of `--context-sessions`; the test runs for each."""
    return _open(*request.param)


@pytest.fixture(scope="session")
def context_sessions(request: pytest.FixtureRequest) -> "tuple[Session, ...]":
    """All recorded sessions of `--context-sessions`; the test is skipped if there are none."""
    transcripts = find_transcripts(request.config.getoption("--context-sessions"))
    if not transcripts:
        pytest.skip("no sessions: give --context-sessions DIR")
    return tuple(_open(name, path) for name, path in transcripts)


def _open(name: str, path: Path) -> "Session":
    from inspector.core.errors import InspectorError
    from inspector.testing.checks import REPLAYS

    try:
        return REPLAYS.open(path, name)
    except InspectorError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Add the numbers of the replays that a test asks for to its properties: JUnit shows them, workers send them."""
    try:
        return (yield)
    finally:
        checks = sys.modules.get("inspector.testing.checks")
        if checks is not None and checks.REPLAYS.asked:
            from inspector.testing.summary import describe_with_changes

            baseline = _read_baseline(item.config)
            for figures in checks.REPLAYS.take_asked():
                item.user_properties.append(
                    (f"{PROPERTY}{figures.key}", describe_with_changes(figures, baseline))
                )


def _read_baseline(config: pytest.Config) -> "Baseline | None":
    path = config.getoption("--context-baseline")
    if not path:
        return None
    if _BASELINE not in config.stash:
        from inspector.core.errors import InspectorError
        from inspector.testing.summary import read_baseline

        try:
            config.stash[_BASELINE] = read_baseline(Path(path))
        except InspectorError as error:
            raise pytest.UsageError(str(error)) from None
    return config.stash[_BASELINE]


def pytest_configure(config: pytest.Config) -> None:
    """Fail if the sessions or the baseline cannot be found; collect numbers in the process that writes the report."""
    config.stash[_ROWS] = {}
    find_transcripts(config.getoption("--context-sessions"))
    _read_baseline(config)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(
            _Collector(config.stash[_ROWS]), "context-inspector-collector"
        )


class _Collector:
    """Collects the numbers from the reports of tests, including those that ran in other processes."""

    def __init__(self, rows: dict[str, str]) -> None:
        self._rows = rows

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name.startswith(PROPERTY):
                self._rows[name.removeprefix(PROPERTY)] = str(value)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report and the baseline."""
    config = session.config
    report, store = (
        config.getoption("--context-report"),
        config.getoption("--context-save-baseline"),
    )
    if hasattr(config, "workerinput") or not (report or store):
        return
    from inspector.testing.summary import baseline_text, report_lines

    rows, baseline = config.stash[_ROWS], _read_baseline(config)
    if report:
        Path(report).write_text("\n".join(report_lines(rows, baseline)) + "\n", "utf-8")
    if store:
        Path(store).write_text(baseline_text(rows), "utf-8")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the name of the report file."""
    if config.getoption("--context-report"):
        terminalreporter.write_line(f"context report: {config.getoption('--context-report')}")
