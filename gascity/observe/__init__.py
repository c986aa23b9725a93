"""Ask the runtimes, the store and demand, bounded in time, and build one World."""
