"""Sources beside documents: benchmark sets, conversations, policies of refusal and generated problems as candidates of their own."""
