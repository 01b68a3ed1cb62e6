"""Read-only looks at a lake, without a JVM: status, funnel, explain, sql."""
