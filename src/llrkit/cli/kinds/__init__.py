"""The kinds of score files, and what each command does with every kind."""
