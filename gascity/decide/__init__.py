"""World in, Plan out: every rule of the city, pure. No clock, disk, network, log or await."""
