"""What proves gascity: unit, properties, interleavings, integration, simulation, bench."""
