"""What init, hooks and doctor do around a project."""
