"""ATIF, harbor's trajectories: steps of one agent, with the runs that it started; and their training form."""

from functools import partial

from inspector.core.formats.atif import reader, traces
from inspector.core.formats.format import Contents, Format
from inspector.core.formats.many import ManyReader

FORMATS = (
    Format(
        reader.NAME,
        "ATIF trajectory",
        reader.sniff,
        reader.AtifReader,
        reader.companions,
        reader.is_companion,
        grows=True,
        contents=Contents(
            "yes",
            "where a system step begins it",
            "where the agent's definition has them",
            "harbor; with those of the runs that it started",
        ),
    ),
    Format(
        traces.NAME,
        "ATIF training conversations",
        traces.sniff,
        partial(ManyReader, traces.NAME, traces.split, traces.TracesReader),
        is_many=True,
        grows=True,
        contents=Contents("no", "yes", "no", "a session a trial"),
    ),
)
