"""What gauge and timeline show of a State: the pressure, the lines, curves and marks, and what fills the buffer."""
