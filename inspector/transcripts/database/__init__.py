"""An SQLite database that somebody else is writing, read without SQLite: never locked, nothing ever written beside it.

SQLite itself cannot do that. Measured with 3.40: a read-only connection (`mode=ro`) to a database in WAL mode takes
three locks, writes into the `-shm` file, makes one where there is none, and while it reads the writer's checkpoint
fails; `immutable=1` does not see the log at all. A copy of 300 MB for every answer of a model is no way either. So the
few hundred lines here read the file format (sqlite.org/fileformat.html): pages, the write-ahead log, B-trees, records.
What was read is checked to be of one moment; where a checkpoint came in between, it is read once more.
"""
