"""Rule - test - verifier rewards for programs: expected values and hidden tests never enter the candidate's process.

``schemas.code`` says what a task is, ``adapters`` makes one of a data set's row, ``self_test`` tries it on its reference. A response goes through
``response`` (where is the program?), ``rules`` with ``hard_coding`` and ``reach`` (what does it plainly try?), ``grading`` (which tests does it
pass?) and comes out of ``rewards`` as rows. ``grading`` runs stored answers by ``compare`` and tests that are code by ``units``; ``link`` carries
what the two sandboxes say to each other, and ``inside`` is what runs in them.
"""
