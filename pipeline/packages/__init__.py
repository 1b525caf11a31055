"""Context packages: folders of other repositories, installed by git and locked to a commit (nocaap's seed)."""
