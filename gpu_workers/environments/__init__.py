"""Where an agent acts: each environment behind the one interface of :mod:`gpu_workers.environments.environment`."""
