"""Adapters that host sessions; they know nothing of sleeping."""
