"""What every table, file and configuration of verilake looks like; nothing here acts."""
