"""Jobs: a verb with its files and options, run in the same way for a command, the app and a study."""
