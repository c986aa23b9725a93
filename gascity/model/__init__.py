"""The nouns that two layers or more share: what was asked for, remembered, seen and planned."""
