"""What documents are about: tags that they carry, and tags that follow."""
