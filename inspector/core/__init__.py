"""The core: functions and values without network or clock. It reads only files that ship with the program."""
