"""The release tools: the changelog, and a trial of the wheel. CONTRIBUTING.md has the recipe."""
