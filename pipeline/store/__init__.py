"""Tables to the search database, and artifacts to their published place. Only this writes `build/`."""
