"""What every room may use: arguments, text, files, and the process."""
