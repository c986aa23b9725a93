"""What people and scripts are shown: status, tables, log lines."""
