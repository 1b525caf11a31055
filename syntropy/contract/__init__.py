"""What builder and reader agree on."""
