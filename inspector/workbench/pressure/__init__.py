"""What gauge and timeline show of a State: the reading, the lines, the curves and marks, what filled the buffer."""
