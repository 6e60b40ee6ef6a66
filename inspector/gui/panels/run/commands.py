"""The commands and keys of a run."""

from inspector.gui.commands import Command
from inspector.gui.runs.desk import RunDesk

GROUP = "Run"


def run_commands(runs: RunDesk) -> tuple[Command, ...]:
    """How a run begins, and a debugger's controls."""
    running = runs.running
    return (
        Command("Run an agent…", runs.ask_new, ("Ctrl+R",), GROUP),
        Command("Run a live demo", runs.demo, (), GROUP),
        Command("Run from here…", runs.fork, ("Ctrl+Shift+R",), GROUP),
        Command("Resume this run", runs.resume, (), GROUP),
        Command("Go on with the run", running.go, ("F5",), GROUP),
        Command("Go on with the run as it was, without the steps", running.go_as_it_was, (), GROUP),
        Command("Pause the run", running.pause, ("F6",), GROUP),
        Command("Run one model call", running.step_model, ("F10",), GROUP),
        Command("Run one tool call", running.step_tool, ("F11",), GROUP),
        Command("Stop the run", running.stop, ("Shift+F5",), GROUP),
        Command("Show the run's journal", runs.show, (), GROUP),
    )
