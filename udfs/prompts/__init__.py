"""Tasks in the forms in which a policy meets them."""

from __future__ import annotations

from udfs.prompts.constraints import FORMAT_VERSION, constrain, rule_for, rules_for
from udfs.prompts.render import render
from udfs.prompts.templates import template_versions

__all__ = ["FORMAT_VERSION", "constrain", "render", "rule_for", "rules_for", "template_versions"]
