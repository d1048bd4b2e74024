"""Hidden-constraint spaces: playbooks whose settings fail for reasons a planner is not told."""
