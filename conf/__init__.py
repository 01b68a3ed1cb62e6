"""TOML defaults and prompt templates; no code. A package only so that it travels inside the zip and the wheel."""
