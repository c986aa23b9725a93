"""What surrounds a city goes wrong: disks, kills, tmux, clocks, files, second controllers."""
