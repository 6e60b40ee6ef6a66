"""Values in, values out: nothing here touches the network, the disk or the clock."""
