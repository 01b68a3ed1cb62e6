"""Rule - test - verifier rewards for programs: expected values and hidden tests never enter the candidate's process."""
