"""What to do next, decided from what is known. Pure: values in, values out (`plan.next_step`, `world.World`)."""
