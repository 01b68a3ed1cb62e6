"""Programs of ours that run inside the sandbox, beside what a policy wrote. They import the standard library alone and are believed nothing."""
