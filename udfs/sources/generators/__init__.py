"""Families of generated problems: templates of our own with five levels, every problem a function of family, seed, index and level."""
