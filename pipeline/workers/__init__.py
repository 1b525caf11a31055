"""Who does the work on shards: this process, its processes, or a cluster."""
