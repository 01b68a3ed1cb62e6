"""Rewards as views: what every reward function declares, and what is made of raw rewards (aligned, composed, shaped, advantages, ratios).

Nothing here is stored in place of a raw reward: silver.rewards and the judgements stay the truth, and every view carries its version.
"""
