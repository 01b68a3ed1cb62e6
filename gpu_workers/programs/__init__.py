"""What a worker can do: one module a program, behind the interface of ``program``."""
