"""Measured probes of question-answer items: is the answer grounded, does the question give it away, can it be graded, does it stand alone?"""
