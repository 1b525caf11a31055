"""A chat over the knowledge, against any OpenAI-compatible endpoint."""
