"""Jobs on a Slurm cluster on loopback."""
