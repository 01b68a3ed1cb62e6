"""Text as every topic sees it: one normal form, one table of character classes, one tokeniser."""
