"""Fakes that ship: a stand-in agent, scripted runtimes and stores, clocks and builders."""
