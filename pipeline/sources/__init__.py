"""Connectors: one module a kind of source, all behind `protocol.Connector`; none knows another."""
