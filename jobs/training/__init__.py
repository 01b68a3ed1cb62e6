"""Parts of the embedded trainer's job: what it reads, and what it leaves."""
