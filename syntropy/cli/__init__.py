"""The command line: words in, words out. A command is a row of `command_table` and a function."""
